import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
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
 * How the engine has to treat a tool, where that shows in the log: as the recording says, or else as
 * the product's own tool of that name. All of them count as reading: when calls begin is recorded,
 * and so is what was refused.
 */
class ToolFlags {
  readonly #known: ReadonlyMap<string, Tool>;
  readonly #unknown = new Set<string>();
  readonly #called = new Set<string>();
  readonly #repeatable = new Map<string, boolean>();
  readonly #waiting = new Set<string>();

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
    const { idempotent = false, waits } = this.#known.get(name) ?? {};
    const isWaiting = waits === true || this.#waiting.has(name);
    return {
      name,
      description: "",
      input: z.unknown(),
      scopes: [],
      effect: "read",
      // Whose words a result held is recorded, and so is what people said of ways out.
      exposure: noExposure,
      idempotent: this.#repeatable.get(name) ?? idempotent,
      ...(isWaiting && { waits: true }),
    };
  }

  #learn(events: readonly StoredEvent[]): void {
    const open = new Map<string, string>();
    for (const { payload, type } of events) {
      switch (type) {
        case "agent.tool_started":
          this.#called.add(payload.tool);
          open.set(payload.call_id, payload.tool);
          break;
        case "agent.tool_denied":
          if (payload.rule === "unknown_tool") this.#unknown.add(payload.tool);
          break;
        case "agent.tool_completed":
          open.delete(payload.call_id);
          break;
        case "agent.tool_failed":
          open.delete(payload.call_id);
          if (payload.error.startsWith("Interrupted: ")) this.#repeatable.set(payload.tool, true);
          break;
        case "agent.tool_outcome_unknown":
          open.delete(payload.call_id);
          this.#repeatable.set(payload.tool, false);
          break;
        case "agent.resumed":
          for (const tool of open.values()) this.#learnFromDeath(tool, payload.resumption);
          break;
        default:
      }
    }
  }

  /** It was open when its worker died, and its outcome is not unknown: it was made again. */
  #learnFromDeath(tool: string, resumption: number): void {
    if (!this.#repeatable.has(tool)) this.#repeatable.set(tool, true);
    // What only waits for others cannot be what killed the worker.
    if (resumption === 0) this.#waiting.add(tool);
  }
}
