import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defaultConfig } from "../../control/config.ts";
import type { StartedTool, StoredEvent } from "../../events/event.ts";
import { builtInTools } from "../../tools/built-in-tools.ts";
import type { Tool } from "../../tools/tool.ts";
import { type OfferedTools, Toolbox } from "../../tools/toolbox.ts";
import type { RecordedBounds } from "./recorded-bounds.ts";
import type { Recording } from "./recording.ts";

/** What a tool of the replay does: the recorded, and nothing else. */
export type RecordedBehaviour = Pick<Tool, "preflight" | "execute">;

export interface ReplayToolboxOptions {
  readonly recording: Recording;
  readonly bounds: Pick<RecordedBounds, "toolTokens">;
}

/** The tools of a replay: every name that was called, and none that does anything by itself. */
export class ReplayToolbox extends Toolbox {
  readonly #flags: ToolFlags;
  readonly #behaviour: RecordedBehaviour;
  readonly #made = new Map<string, Tool>();
  readonly #offered = new Map<string, OfferedTools>();

  constructor({ bounds, recording }: ReplayToolboxOptions, behaviour: RecordedBehaviour) {
    super([]);
    this.#flags = new ToolFlags(recording.events);
    this.#behaviour = behaviour;
    for (const [id, tokens] of bounds.toolTokens) {
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
  readonly #called = new Map<string, StartedTool>();
  readonly #repeatable = new Map<string, boolean>();
  readonly #waiting = new Set<string>();
  /** Tools that ended a delegation, and those of them whose end no review had accepted. */
  readonly #ending = new Set<string>();
  readonly #unreviewed = new Set<string>();

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
    const {
      changes = "any",
      joins,
      polls,
      saves_memory: savesMemory,
    } = this.#called.get(name) ?? {};
    const mayComeBack = this.#ending.has(name) && !this.#unreviewed.has(name);
    const isWaiting = waits === true || joins === true || this.#waiting.has(name);
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
      ...(mayComeBack && { mayComeBack: true }),
      ...(changes !== "any" && { changes }),
      ...(polls && { polls }),
      ...(savesMemory && { savesMemory }),
    };
  }

  #learn(events: readonly StoredEvent[]): void {
    const open = new Map<string, string>();
    let isSuspended = false;
    let ending: string | undefined;
    for (const { payload, type } of events) {
      switch (type) {
        case "agent.interrupted":
          isSuspended = true;
          break;
        case "agent.paused":
          isSuspended ||= payload.reason !== "budget";
          break;
        case "agent.tool_started":
          this.#called.set(payload.tool, payload);
          open.set(payload.call_id, payload.tool);
          break;
        case "agent.tool_denied":
          if (payload.rule === "unknown_tool") this.#unknown.add(payload.tool);
          break;
        case "agent.tool_completed":
          open.delete(payload.call_id);
          if (payload.exit === undefined) break;
          ending = payload.tool;
          this.#ending.add(ending);
          break;
        case "agent.subagent_failed":
          if (payload.cause.code !== "review_missing" || ending === undefined) break;
          this.#unreviewed.add(ending);
          break;
        case "agent.tool_failed":
          open.delete(payload.call_id);
          if (payload.cause.code === "delegation_closed") this.#repeatable.set(payload.tool, true);
          break;
        case "agent.tool_outcome_unknown":
          open.delete(payload.call_id);
          this.#repeatable.set(payload.tool, false);
          break;
        case "agent.resumed":
          // An agent that was resumed by a person is not counted as resumed after a crash.
          for (const tool of open.values()) {
            this.#learnFromDeath(tool, !isSuspended && payload.resumption === 0);
          }
          isSuspended = false;
          break;
        default:
      }
    }
  }

  /** It was open when its worker died, and its outcome is not unknown: it was made again. */
  #learnFromDeath(tool: string, isUncounted: boolean): void {
    if (!this.#repeatable.has(tool)) this.#repeatable.set(tool, true);
    // What only waits for others cannot be what killed the worker.
    if (isUncounted) this.#waiting.add(tool);
  }
}
