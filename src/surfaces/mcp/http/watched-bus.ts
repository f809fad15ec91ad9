import {
  InMemoryServerEventBus,
  type ServerEvent,
  type ServerEventBus,
  type ServerNotifier,
} from "@modelcontextprotocol/server";

/** Tells the streams of one principal what changed, and looks for changes only while one is open. */
export class WatchedBus implements ServerEventBus {
  readonly #bus = new InMemoryServerEventBus();
  readonly #watch: (notify: ServerNotifier) => () => void;
  #streams = 0;
  #unwatch: (() => void) | undefined;

  constructor(watch: ((notify: ServerNotifier) => () => void) | undefined) {
    this.#watch = watch ?? (() => () => undefined);
  }

  publish(event: ServerEvent): void {
    this.#bus.publish(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    const unsubscribe = this.#bus.subscribe(listener);
    if (++this.#streams === 1) this.#unwatch = this.#watch(notifierOf(this.#bus));
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      unsubscribe();
      if (--this.#streams === 0) this.#unwatch?.();
    };
  }
}

function notifierOf(bus: ServerEventBus): ServerNotifier {
  return {
    toolsChanged: () => bus.publish({ kind: "tools_list_changed" }),
    promptsChanged: () => bus.publish({ kind: "prompts_list_changed" }),
    resourcesChanged: () => bus.publish({ kind: "resources_list_changed" }),
    resourceUpdated: (uri) => bus.publish({ kind: "resource_updated", uri }),
  };
}
