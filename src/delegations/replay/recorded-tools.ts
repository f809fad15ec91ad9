import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defaultConfig } from "../../control/config.ts";
import type { StartedTool, StoredEvent } from "../../events/event.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import { builtInTools } from "../../tools/built-in-tools.ts";
import { ToolDeadline } from "../../tools/gate.ts";
import type { Tool, ToolContext, ToolOutput } from "../../tools/tool.ts";
import { type OfferedTools, Toolbox } from "../../tools/toolbox.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { Middleware } from "../middleware.ts";
import { askPerson } from "../turns/ask-person.ts";
import type { Course } from "./course.ts";
import type { RecordedBounds } from "./recorded-bounds.ts";
import type { RecordedAct, RecordedCall, RecordedResult, Recording } from "./recording.ts";

export interface RecordedToolsOptions {
  readonly recording: Recording;
  readonly course: Course;
  find(delegationId: string): LiveDelegation | undefined;
  /** Creates a recorded child, unless it exists already. */
  makeChild(id: string): void;
}

/** Gives the calls of a replay their recorded effects and results, at their recorded moments. */
export class RecordedTools implements RecordedBehaviour {
  readonly #options: RecordedToolsOptions;

  constructor(options: RecordedToolsOptions) {
    this.#options = options;
  }

  /** Before the gate: waits until the call began, repeats its approval, and applies the recorded name. */
  readonly call: NonNullable<Middleware["call"]> = async ({ call, delegationId }, next) => {
    const recorded = this.#callOf(delegationId, call.id);
    const agent = this.#options.find(delegationId);
    const { course } = this.#options;
    if (agent === undefined) return next(call);
    if (recorded === undefined) {
      // The call never began: it waited for another call when its delegation was stopped.
      return course.hasStrayed(delegationId) ? next(call) : agent.work.interruptible(never());
    }
    // After a recovery the call may be repeated long after it first began.
    await course.when(recorded.seq);
    if (recorded.approval !== null) {
      const { approval: question } = recorded;
      await askPerson(agent, { callId: call.id, kind: "approval", question });
    }
    const isRenamed = recorded.tool !== "" && recorded.tool !== call.name;
    return next(isRenamed ? { ...call, name: recorded.tool } : call);
  };

  /** Refuses what was refused, with the recorded message. */
  readonly preflight = (_input: unknown, { callId, delegationId }: ToolContext): void => {
    const result = this.#callOf(delegationId, callId)?.result;
    if (result?.kind === "denied") throw new CallDenied(result.rule, result.text);
    const pending = this.#options.find(delegationId)?.said.transcript.pending ?? [];
    const hadBegun = pending.some(({ call, started }) => call.id === callId && started);
    if (result?.kind === "unknown" && hadBegun) throw new CallDenied(result.rule, result.advice);
  };

  readonly execute = async (_input: unknown, context: ToolContext): Promise<ToolOutput> => {
    const { callId, delegationId } = context;
    const recorded = this.#callOf(delegationId, callId);
    const agent = this.#options.find(delegationId);
    if (recorded === undefined || agent === undefined) {
      throw new Error(`The recording has no result of the call ${callId}.`);
    }
    const asking: Promise<unknown>[] = [];
    for (const act of recorded.acts) {
      await this.#options.course.arrival(act.seq);
      if (agent.work.stopReason !== null) return never();
      const acting = this.#act(act, context);
      // The delegation may be stopped before this promise is awaited.
      acting.catch(() => undefined);
      asking.push(acting);
    }
    await Promise.all(asking);
    return this.#result(recorded.result, agent, context);
  };

  async #act(act: RecordedAct, { delegator }: ToolContext): Promise<void> {
    switch (act.kind) {
      case "child":
        this.#options.makeChild(act.id);
        return;
      case "ask":
        await delegator.ask(act.question, act.of);
        return;
      case "plan":
        await delegator.plans.record(act.steps);
        return;
      case "workflow":
        await delegator.workflows.record([act.event]);
        return;
      default:
        return act satisfies never;
    }
  }

  async #result(
    result: RecordedResult,
    agent: LiveDelegation,
    { delegator }: ToolContext,
  ): Promise<ToolOutput> {
    if (!("seq" in result)) return never();
    await this.#options.course.arrival(result.seq);
    if (agent.work.stopReason !== null) return never();
    const { connections, exitCode, kind, untrusted } = result;
    const facts = {
      ...(connections && { connections }),
      ...(exitCode !== undefined && { exitCode }),
      ...(untrusted && { untrusted }),
    };
    if (kind === "failed") {
      const { cause, spawnFailed, text } = result;
      if (cause.code === "tool_deadline") throw new ToolDeadline(cause);
      const declined = cause.code === "not_approved" && ({ notApproved: true } as const);
      return { text, isError: true, ...declined, ...(spawnFailed && { spawnFailed }), ...facts };
    }
    const { artifact, delivered, exit, files, isError, text } = result;
    const [child] = delivered ?? [];
    const isPlain = artifact === undefined && exit === undefined && files === undefined;
    // A child's result is written in the transaction that closes the child, and is never truncated.
    const isOwn = child !== undefined && this.#options.recording.delegations.has(child);
    if (isOwn && delivered?.length === 1 && isPlain) {
      return delegator.results.joinAndComplete(child, () => ({
        text,
        ...(isError && { isError }),
      }));
    }
    if (delivered) delegator.results.delivered(delivered);
    const whole =
      artifact === undefined ? undefined : this.#options.recording.artifacts.get(artifact);
    return {
      text: whole ?? result.text,
      ...(whole !== undefined && { shownBytes: shownBytes(result.text) }),
      ...(files && { files }),
      ...facts,
      ...(exit !== undefined && { exit }),
    };
  }

  #callOf(delegationId: string, callId: string): RecordedCall | undefined {
    return this.#options.recording.delegations.get(delegationId)?.calls.get(callId);
  }
}

/** The bytes of a truncated output before its note. A character is never cut in half. */
function shownBytes(text: string): number {
  const end = text.lastIndexOf("\n[… cut: ");
  return Buffer.byteLength(end < 0 ? text : text.slice(0, end));
}

/** Never settles: for callers that have been stopped, or will be. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** What every tool of a replay does: its recorded effects. */
export type RecordedBehaviour = Pick<Tool, "preflight" | "execute">;

export interface ReplayToolboxOptions {
  readonly recording: Recording;
  readonly bounds: Pick<RecordedBounds, "toolTokens">;
}

/** The tools of a replay: one for every recorded name, all with the recorded effects. */
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

  /** No model reads the descriptions, so they are empty. Their size still counts in the budget. */
  override offer(names: readonly string[]): OfferedTools {
    return this.#offered.get(names.join(",")) ?? none;
  }
}

const none: OfferedTools = { descriptions: [], tokens: 2 };

type Flags = Omit<Tool, "preflight" | "execute">;

/**
 * The properties of a tool that the engine acts upon: as the recording shows them, or else those of
 * the product's tool of that name. Every tool has the effect "read", because the order of calls and
 * all refusals are recorded.
 */
class ToolFlags {
  readonly #known: ReadonlyMap<string, Tool>;
  readonly #unknown = new Set<string>();
  readonly #called = new Map<string, StartedTool>();
  readonly #repeatable = new Map<string, boolean>();
  readonly #waiting = new Set<string>();
  /** Exit tools that ended a delegation, and those of them whose output no reviewer had accepted. */
  readonly #ending = new Set<string>();
  readonly #unreviewed = new Set<string>();

  constructor(events: readonly StoredEvent[]) {
    const { tools } = defaultConfig;
    const spawn = { ...tools.spawn, enabled: true };
    const config = { ...defaultConfig, tools: { ...tools, spawn }, profiles: [], files: [] };
    const sources = { environment: {}, skills: null };
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
      // Taint is recorded with each result, and so are answers about egress.
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
          // A delegation that a person resumed is not counted as recovered.
          for (const tool of open.values()) {
            this.#learnFromDeath(tool, !isSuspended && payload.resumption === 0);
          }
          isSuspended = false;
          break;
        default:
      }
    }
  }

  /** The call was open when its worker died and has no unknown outcome: the tool is idempotent. */
  #learnFromDeath(tool: string, isUncounted: boolean): void {
    if (!this.#repeatable.has(tool)) this.#repeatable.set(tool, true);
    // The recovery was not counted as one without progress: the tool only waits for others.
    if (isUncounted) this.#waiting.add(tool);
  }
}
