import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { render } from "ink-testing-library";
import { createElement } from "react";
import { afterEach } from "vitest";
import type { Profile } from "../../agents/profiles/profile.ts";
import { hotkeysOf } from "../../application/commands/profile-triggers.ts";
import type { EventType } from "../../events/event.ts";
import { loadPlaybook } from "../../models/scripted/load-playbook.ts";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Model } from "../../ports/model.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import { until } from "../../testing/until.ts";
import type { Io } from "../cli/io.ts";
import { styleFor } from "../cli/style.ts";
import { ChatApp } from "./chat-app.ts";
import { ChatDriver } from "./chat-driver.ts";
import type { ChatEffect, ChatInput } from "./chat-input.ts";
import { openChatState } from "./chat-state.ts";
import { ChatStore } from "./chat-store.ts";
import { usableHotkeys } from "./keys/keys.ts";

export const enter = "\r";
export const escapeKey = "\u001b";

interface ChatDeskOptions {
  readonly playbook: string;
  readonly columns?: number;
  readonly rows?: number;
  readonly maxConcurrent?: number;
  readonly profiles?: readonly Profile[];
  /** The one that the person talks with; default: general. */
  readonly profile?: string;
  /** The home is a real one: what is kept beside the database can be found. */
  readonly isOnDisk?: boolean;
  /** Agents with a task answer no earlier; the one that the person talks to does. */
  readonly childrenAfter?: Promise<void>;
  /** What the playbook's latencies are measured by. */
  readonly modelClock?: Clock;
}

/** A desk for each test, cleared when it has ended. */
export function sitDownWith(
  playbook: string,
  always: Partial<ChatDeskOptions> = {},
): (more?: Partial<ChatDeskOptions>) => Promise<ChatDesk> {
  let desk: ChatDesk | undefined;
  afterEach(async () => {
    await desk?.close();
    desk = undefined;
  });
  return async (more = {}) => {
    desk = await ChatDesk.open({ playbook, ...always, ...more });
    return desk;
  };
}

/** Knows what came from the keyboard so far, and has things done that no key asks for. */
class WatchedStore extends ChatStore {
  pressed = 0;
  perform: (effect: ChatEffect) => void = () => undefined;

  override performedBy(perform: (effect: ChatEffect) => void): void {
    this.perform = perform;
    super.performedBy(perform);
  }

  override dispatch(...inputs: readonly ChatInput[]): void {
    super.dispatch(...inputs);
    if (inputs.some(({ type }) => type === "key" || type === "text" || type === "paste")) {
      this.pressed++;
    }
  }
}

/** A chat on a real runtime, drawn by Ink on a screen that tests can read. */
export class ChatDesk {
  readonly runtime: Runtime;
  readonly store: WatchedStore;
  readonly driver: ChatDriver;
  /** Runs that were given to a process of their own. */
  readonly detached: readonly string[];
  /** The workspace. */
  readonly folder: string;
  readonly #screen: ReturnType<typeof render>;

  private constructor(parts: Pick<ChatDesk, "runtime" | "driver" | "store" | "detached">, io: Io) {
    this.runtime = parts.runtime;
    this.driver = parts.driver;
    this.store = parts.store;
    this.detached = parts.detached;
    this.folder = io.cwd;
    const style = styleFor(io.stdout, io);
    this.#screen = render(createElement(ChatApp, { store: this.store, style }));
  }

  static async open(options: ChatDeskOptions): Promise<ChatDesk> {
    const { childrenAfter, columns = 80, maxConcurrent, modelClock, profiles = [] } = options;
    const { profile = "general", rows = 24 } = options;
    const above = realpathSync(mkdtempSync(join(tmpdir(), "mandate-chat-")));
    const folder = join(above, "project");
    const home = join(above, "home");
    for (const each of [folder, home]) mkdirSync(each);
    const file = join(above, "playbook.yaml");
    writeFileSync(file, options.playbook);
    let hear: (id: string, text: string) => void = () => undefined;
    const runtime = await createRuntime({
      consent: "named",
      environment: { MANDATE_HOME: home, XDG_CONFIG_HOME: home, PATH: process.env["PATH"] },
      cwd: folder,
      ...(options.isOnDisk !== true && { database: ":memory:" }),
      scripted: modelOf(scriptedModel(await loadPlaybook(file), modelClock), childrenAfter),
      profiles,
      ...(maxConcurrent !== undefined && { maxConcurrent }),
      onDelta: (id, text) => hear(id, text),
    });
    const io = ioFor(folder, columns, rows);
    const detached: string[] = [];
    const store = new WatchedStore(
      openChatState({
        columns,
        rows,
        now: io.now(),
        session: { id: null, title: "", profile, modelNotice: "" },
        hotkeys: usableHotkeys(hotkeysOf(runtime.profiles.all()).hotkeys),
        model: "scripted/playbook",
        said: [],
      }),
    );
    const driver = new ChatDriver(
      {
        runtime,
        io,
        workspace: folder,
        profile,
        modelNotice: "",
        model: "scripted/playbook",
        modelOverride: undefined,
        readOnly: false,
        place: "chat-test",
        maxTokens: undefined,
        maxCost: undefined,
        principal: { id: "local", role: "operator" },
        detach: async ({ id }) => void detached.push(id),
      },
      store,
    );
    hear = (id, text) => driver.onDelta(id, text);
    return new ChatDesk({ runtime, driver, store, detached }, io);
  }

  /** What the person sees: all that was said, and what moves below it. */
  get frame(): string {
    return stripVTControlCharacters(this.#screen.lastFrame() ?? "");
  }

  get rawFrame(): string {
    return this.#screen.lastFrame() ?? "";
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const { pressed } = this.store;
      this.#screen.stdin.write(key);
      // Escape is a key by itself when nothing follows for a while: the next key comes after it.
      await until(`the chat takes ${JSON.stringify(key)}`, () => this.store.pressed > pressed);
    }
  }

  async say(text: string): Promise<void> {
    await this.press(text, enter);
  }

  /** Until what happened so far is in the inbox that is shown. */
  async settle(): Promise<void> {
    await until("every run ends", () => this.runtime.engine.liveRuns.length === 0);
    // The first one may be answered by what was being read already, the second one by the first.
    for (let time = 0; time < 2; time++) {
      const { inbox } = this.store.state;
      this.store.perform({ do: "note-told", items: [] });
      await until("the inbox is read again", () => this.store.state.inbox !== inbox);
    }
  }

  /** Until the chat has taken in an event of this type in the turn that it shows. */
  async hear(type: EventType): Promise<void> {
    await until(`the chat hears of ${type}`, async () => {
      const { turn } = this.store.state;
      if (turn === null) return false;
      for await (const event of this.runtime.store.readEvents({ runId: turn.runId })) {
        if (event.type === type && event.run_seq <= turn.seq) return true;
      }
      return false;
    });
  }

  async see(text: string | RegExp): Promise<string> {
    const holds = () =>
      typeof text === "string" ? this.frame.includes(text) : text.test(this.frame);
    await until(String(text), holds).catch((cause: unknown) => {
      throw new Error(`Not seen: ${String(text)}\nThe screen:\n${this.frame}`, { cause });
    });
    return this.frame;
  }

  async close(): Promise<void> {
    this.driver.stop();
    this.#screen.unmount();
    for (const run of this.runtime.engine.liveRuns)
      await this.runtime.engine.cancel(run.id, "the end");
    await this.runtime.close();
    rmSync(dirname(this.folder), { recursive: true, force: true });
  }
}

function modelOf(model: Model, childrenAfter: Promise<void> | undefined): Model {
  if (childrenAfter === undefined) return model;
  return async (request, onPart) => {
    const { caller, signal } = request;
    signal.throwIfAborted();
    if (caller.depth > 0) {
      const aborted = once(signal, "abort").then(() => signal.throwIfAborted());
      await Promise.race([childrenAfter, aborted]);
    }
    return model(request, onPart);
  };
}

function ioFor(cwd: string, columns: number, rows: number): Io {
  const writer = {
    write: () => undefined,
    writeExact: () => undefined,
    isTerminal: true,
    columns,
    rows,
  };
  return {
    stdout: writer,
    stderr: writer,
    environment: { LANG: "C.UTF-8", MANDATE_HOME: join(dirname(cwd), "home") },
    cwd,
    program: "mandate",
    pid: process.pid,
    now: Date.now,
    onSignal: () => () => undefined,
    leave: () => undefined,
  };
}
