import { CallDenied } from "../../ports/mandate-error.ts";
import { ToolDeadline } from "../../tools/gate.ts";
import type { ToolContext, ToolOutput } from "../../tools/tool.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { Middleware } from "../middleware.ts";
import { askPerson } from "../turns/ask-person.ts";
import type { Course } from "./course.ts";
import type { RecordedAct, RecordedCall, RecordedResult } from "./recorded-calls.ts";
import type { Recording } from "./recording.ts";
import type { RecordedBehaviour } from "./replay-toolbox.ts";

export interface RecordedToolsOptions {
  readonly recording: Recording;
  readonly course: Course;
  find(delegationId: string): LiveDelegation | undefined;
  /** Makes a child again, unless it is there already. */
  makeChild(id: string): void;
}

/** What calls do in a replay: what they did, when they did it, and nothing else. */
export class RecordedTools implements RecordedBehaviour {
  readonly #options: RecordedToolsOptions;

  constructor(options: RecordedToolsOptions) {
    this.#options = options;
  }

  /** Before the gate: when it began, whether a person was asked, and what middleware had made of the call. */
  readonly call: NonNullable<Middleware["call"]> = async ({ call, delegationId }, next) => {
    const recorded = this.#callOf(delegationId, call.id);
    const agent = this.#options.find(delegationId);
    const { course } = this.#options;
    if (agent === undefined) return next(call);
    if (recorded === undefined) {
      // It never began: it waited for another one when its agent was stopped.
      return course.hasStrayed(delegationId) ? next(call) : agent.work.interruptible(never());
    }
    // After its worker died it may come again when it has long begun.
    await course.when(recorded.seq);
    if (recorded.approval !== null) {
      const { approval: question } = recorded;
      await askPerson(agent, { callId: call.id, kind: "approval", question });
    }
    const isRenamed = recorded.tool !== "" && recorded.tool !== call.name;
    return next(isRenamed ? { ...call, name: recorded.tool } : call);
  };

  /** Refusals are in the log, in the words that the model read. */
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
      // It may be stopped before anybody looks.
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
        await delegator.plan(act.steps);
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
    const { exitCode, kind, untrusted } = result;
    const facts = {
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
    // What a child hands to its caller is never cut: it is written together with the child's end.
    const isOwn = child !== undefined && this.#options.recording.delegations.has(child);
    if (isOwn && delivered?.length === 1 && isPlain) {
      return delegator.joinAndComplete(child, () => ({ text, ...(isError && { isError }) }));
    }
    if (delivered) delegator.delivered(delivered);
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

/** Where it was cut, the log shows; a character that would have been halved was left out. */
function shownBytes(text: string): number {
  const end = text.lastIndexOf("\n[… cut: ");
  return Buffer.byteLength(end < 0 ? text : text.slice(0, end));
}

/** Whoever waits for it has been stopped, or will be. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
