import { z } from "zod";
import { defaultConfig } from "../../control/config.ts";
import type { StoredEvent } from "../../events/event.ts";
import { builtInTools } from "../../tools/built-in-tools.ts";
import type { Tool } from "../../tools/tool.ts";
import { type OfferedTools, Toolbox } from "../../tools/toolbox.ts";
import type { Recording } from "./recording.ts";

/** What a tool of the replay does: the recorded, and nothing else. */
export type RecordedBehaviour = Pick<Tool, "preflight" | "execute">;

export interface ReplayToolboxOptions {
  readonly recording: Recording;
  readonly toolTokens: ReadonlyMap<string, number>;
}

/** The tools of a replay: every name that was called, and none that does anything by itself. */
export class ReplayToolbox extends Toolbox {
  readonly #flags: ToolFlags;
  readonly #behaviour: RecordedBehaviour;
  readonly #made = new Map<string, Tool>();
  readonly #offered = new Map<string, OfferedTools>();

  constructor({ recording, toolTokens }: ReplayToolboxOptions, behaviour: RecordedBehaviour) {
    super([]);
    this.#flags = new ToolFlags(recording.events);
    this.#behaviour = behaviour;
    for (const [id, tokens] of toolTokens) {
      const { allowed_tools: names = [] } =
        recording.delegations.get(id)?.contract.permissions ?? {};
      this.#offered.set(names.join(","), { descriptions: [], tokens });
    }
  }

  override get(name: string): Tool | undefined {
    if (this.#flags.isUnknown(name)) return undefined;
    let tool = this.#made.get(name);
    if (tool === undefined) {
      tool = { ...this.#flags.of(name), ...this.#behaviour };
      this.#made.set(name, tool);
    }
    return tool;
  }

  /** Nobody is shown them: there is no model to choose among them. Their size counts all the same. */
  override offer(names: readonly string[]): OfferedTools {
    return this.#offered.get(names.join(",")) ?? none;
  }
}

const none: OfferedTools = { descriptions: [], tokens: 2 };

type Flags = Omit<Tool, "preflight" | "execute">;

/**
 * How the engine has to treat a tool: those of the product by what they are, others by what the
 * recording shows of them.
 */
class ToolFlags {
  readonly #known: ReadonlyMap<string, Tool>;
  readonly #unknown = new Set<string>();
  readonly #called = new Set<string>();
  readonly #inOrder = new Set<string>();
  readonly #repeatable = new Set<string>();
  readonly #unrepeatable = new Set<string>();

  constructor(events: readonly StoredEvent[]) {
    const { tools } = defaultConfig;
    const spawn = { ...tools.spawn, enabled: true };
    const config = { ...defaultConfig, tools: { ...tools, spawn }, profiles: [], files: [] };
    const sources = { environment: {}, profileNames: () => [], skills: null };
    this.#known = new Map(builtInTools(config, sources).map((tool) => [tool.name, tool]));
    for (const own of Map.groupBy(events, ({ sub_agent_id: id = "" }) => id).values()) {
      this.#learn(own);
    }
  }

  isUnknown(name: string): boolean {
    return this.#unknown.has(name) && !this.#called.has(name);
  }

  of(name: string): Flags {
    const known = this.#known.get(name);
    const { waits } = known ?? {};
    return {
      name,
      description: "",
      input: z.unknown(),
      scopes: [],
      effect: known?.effect ?? (this.#inOrder.has(name) || name === "shell" ? "exec" : "read"),
      idempotent:
        this.#repeatable.has(name) || (known?.idempotent ?? !this.#unrepeatable.has(name)),
      ...(waits && { waits }),
    };
  }

  #learn(events: readonly StoredEvent[]): void {
    let hasEnded = false;
    let hasOrder = false;
    let waiting: (readonly [id: string, tool: string])[] = [];
    for (const event of events) {
      if (event.type === "agent.model_turn") {
        hasEnded = false;
        hasOrder = false;
        waiting = event.payload.calls?.map(({ id, name }) => [id, name] as const) ?? [];
      } else if (event.type === "agent.asked") {
        waiting = waiting.filter(([id]) => id !== event.payload.call_id);
      } else if (event.type === "agent.tool_denied" || event.type === "agent.tool_started") {
        // Those that read begin together, in their order: who let others go first, or waited for
        // another's end, is not among them. Who waited for a person may be either.
        const { call_id: callId, tool } = event.payload;
        const place = waiting.findIndex(([id]) => id === callId);
        for (const [, other] of waiting.splice(0, place + 1).slice(0, -1)) this.#inOrder.add(other);
        if (event.type === "agent.tool_started") {
          this.#called.add(tool);
          if ((hasEnded || hasOrder) && place >= 0) this.#inOrder.add(tool);
        } else if (event.payload.rule === "unknown_tool") this.#unknown.add(tool);
        const { effect } = this.#known.get(tool) ?? {};
        hasOrder ||= effect === "write" || effect === "exec" || this.#inOrder.has(tool);
      } else if (event.type === "agent.tool_completed") hasEnded = true;
      else if (event.type === "agent.tool_failed") {
        hasEnded = true;
        if (event.payload.error.startsWith("Interrupted: ")) {
          this.#repeatable.add(event.payload.tool);
        }
      } else if (event.type === "agent.tool_outcome_unknown") {
        this.#unrepeatable.add(event.payload.tool);
      }
    }
  }
}
