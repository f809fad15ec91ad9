/**
 * The gate: the only function that executes tool calls. A tool runs after its name, the contract,
 * the scopes, the workspace and the input were checked here, and after its start was logged.
 */

import { type CallSubjects, judgeByRules } from "../contracts/judge-by-rules.ts";
import { isEgress, isEgressOpen } from "../contracts/trifecta.ts";
import { type CallCause, describeCallCause, describeSaid } from "../events/cause.ts";
import { type Consent, longestApproval } from "../events/consent.ts";
import type { ArtifactReference, NewEvent } from "../events/event.ts";
import { CallDenied } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Message, ToolCall } from "../ports/model.ts";
import { visibleJson } from "../ports/visible-text.ts";
import { clip, headOfBytes } from "../text.ts";
import { exposuresIn } from "./exposure-of.ts";
import { type CallHolder, judgeCall } from "./judge-call.ts";
import { isKnownAddress } from "./known-address.ts";
import { startedTool, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

/** The delegation that makes the call, and how the gate records the outcome. */
export interface GateSubject {
  readonly caller: GateCaller;
  /** Asks a person whether a call may be made; not approved when no answer comes in time. */
  approve(call: ToolCall, question: string): Promise<Consent>;
  record(event: NewEvent): void;
  contextOf(call: ToolCall): ToolContext;
  /** Waits for a tool within its deadline; rejects with a sentence when that passes. */
  within<Output>(tool: Tool, running: Promise<Output>): Promise<Output>;
  /** Whether the results that this call hands over are of children that had read untrusted input. */
  isTainted(): boolean;
  /** Delegations whose results this call hands over. */
  deliveredBy(callId: string): readonly string[] | undefined;
  /** Throws when the delegation was stopped, so that a stop is not recorded as a failure of the tool. */
  checkStopped(): void;
}

/** The delegation that makes a call. */
export interface GateCaller extends CallHolder {
  readonly id: string;
  /** No person can be asked: none is connected, or none answered the last time. */
  readonly isUnattended: boolean;
  /** The conversation of the agent so far. */
  readonly messages: readonly Message[];
  /** How untrusted input reached the agent; null: none has. */
  readonly untrusted: string | null;
  /** A message can have brought private data that its own tools could not. */
  readonly wasToldPrivate?: boolean;
  /** At most so many bytes of an output enter the conversation now. */
  readonly outputBytes: number;
  keepArtifact(body: string): Promise<ArtifactReference>;
  /** Everything recorded so far is on disk. */
  durable(): Promise<unknown>;
}

export async function passGate(
  subject: GateSubject,
  call: ToolCall,
  wasStarted: boolean,
): Promise<ToolResult> {
  const { contract, id } = subject.caller;
  const judgement = judgeCall(subject.caller, call);
  if (!judgement.allowed) return refuse(subject, call, wasStarted, judgement);
  const { tool, input } = judgement;
  const context = subject.contextOf(call);
  const denied = tool.preflight ? preflight(tool, input, context) : undefined;
  if (denied)
    return refuse(subject, call, wasStarted, { rule: denied.rule, reason: denied.message });
  const isClosed = !wasStarted && isEgressClosed(subject.caller, tool, input);
  // Most contracts have no rules: their calls skip the asynchronous check.
  if (!wasStarted && (isClosed || contract.permissions.rules !== undefined)) {
    const ruled = await passRules(subject, { call, tool, input, context, isClosed });
    if (ruled) return refuse(subject, call, wasStarted, ruled);
  }
  const about = { call_id: call.id, tool: tool.name };
  if (wasStarted && !tool.idempotent) {
    const text = "Look at what it did before you repeat it.";
    return outcomeUnknown(subject, call, { code: "call_interrupted", rule: "not_repeated", text });
  }
  if (!wasStarted) {
    const payload = { ...about, ...startedTool(tool) };
    subject.record({ type: "agent.tool_started", sub_agent_id: id, payload });
  }
  // A call that may be repeated may also run ahead of the disk; any other must be known first.
  if (!tool.idempotent) {
    await subject.caller.durable();
    // After a stop was acknowledged, no call may begin.
    subject.checkStopped();
  }
  let result: ToolResult;
  let late: CallCause | undefined;
  try {
    const output = endsHere(tool, subject) ? ending(tool, input) : tool.execute(input, context);
    result = asResult(output instanceof Promise ? await subject.within(tool, output) : output);
  } catch (error) {
    subject.checkStopped();
    result = { text: sentence(error), isError: true };
    if (error instanceof ToolDeadline) late = error.cause;
  }
  if (result.recorded) return result;
  const origin = subject.isTainted() ? tainted : originOf(tool, result);
  if (result.isError) {
    const { text } = uncapped(result, subject.caller) ?? (await cap(result, subject.caller));
    const code = result.notApproved ? "not_approved" : "tool_error";
    const failed = {
      ...about,
      cause: late ?? { code },
      error: text,
      ...(result.spawnFailed && { spawn_failed: true as const }),
      ...exitCodeOf(result),
      ...(result.connections && { connections: result.connections }),
      ...origin,
    };
    subject.record({ type: "agent.tool_failed", sub_agent_id: id, payload: failed });
    return { ...result, text };
  }
  const capped = uncapped(result, subject.caller) ?? (await cap(result, subject.caller));
  const payload = { ...completion(call, result, capped, subject.deliveredBy(call.id)), ...origin };
  subject.record({ type: "agent.tool_completed", sub_agent_id: id, payload });
  return { ...result, text: capped.text };
}

type Reader = Pick<GateCaller, "contract" | "find" | "messages" | "untrusted" | "wasToldPrivate">;

/** Whether a call of this tool to these places needs no approval, after what the agent has read. */
function isOpenTo(reader: Reader, tool: string, destinations: readonly URL[] | undefined): boolean {
  const { contract, find, untrusted, wasToldPrivate } = reader;
  const isKnown = (url: URL): boolean => isKnownAddress(url, reader);
  const call = { tool, destinations, isKnown, wasToldPrivate };
  return isEgressOpen(contract, untrusted, call, exposuresIn(find));
}

/** Whether a redirect needs no approval. A redirect from a known address tells its target nothing new. */
export function mayRedirect(reader: Reader, tool: string, to: URL, from: URL): boolean {
  if (isOpenTo(reader, tool, [to])) return true;
  return isOpenTo(reader, tool, [from]) && isKnownAddress(from, reader);
}

function isEgressClosed(caller: GateCaller, tool: Tool, input: unknown): boolean {
  if (!isEgress(caller.contract, tool.exposure)) return false;
  return !isOpenTo(caller, tool.name, tool.destinations?.(input));
}

/** Marks the results of tools that can return untrusted input. */
function originOf(tool: Tool, { untrusted }: ToolResult): { readonly untrusted?: true } {
  return untrusted || tool.exposure.untrusted ? tainted : {};
}

const tainted = Object.freeze({ untrusted: true as const });

/** Whether the exit rule names this tool: the call then completes the delegation. */
function endsHere(tool: Tool, { caller: { contract } }: GateSubject): boolean {
  if (tool.mayComeBack === true && contract.exit.review !== undefined) return false;
  return tool.ends !== undefined && contract.exit.tools.includes(tool.name);
}

function ending(tool: Tool, input: unknown): ToolResult {
  return { text: "Handed in.", exit: tool.ends?.(input) ?? "" };
}

function preflight(tool: Tool, input: unknown, context: ToolContext): CallDenied | undefined {
  try {
    tool.preflight?.(input, context);
    return undefined;
  } catch (error) {
    // Other errors, such as a missing file, are reported by the tool itself.
    return error instanceof CallDenied ? error : undefined;
  }
}

/** Applies the contract's rules to this call, and asks a person where they say so. */
async function passRules(
  subject: GateSubject,
  { call, context, input, isClosed, tool }: JudgedCall,
): Promise<Refusal | undefined> {
  const { permissions, profile } = subject.caller.contract;
  const subjects = await subjectsOf(tool, input, context);
  // A large tree is gone through in turns. The acknowledgement of a stop says that nothing
  // more begins.
  subject.checkStopped();
  const ruling = judgeByRules(permissions.rules ?? [], tool.name, subjects);
  if (ruling === "allow" && !isClosed) return undefined;
  const what = subjects?.values.join(", ") ?? "";
  const made = what === "" ? tool.name : `${tool.name} for ${clip(what, 201)}`;
  if (ruling === "deny") {
    return { rule: "tool_rule", reason: `The rules of "${profile.id}" do not allow ${made}.` };
  }
  // No person is there to answer: do not wait for the approval to time out.
  if (isClosed && ruling === "allow" && subject.caller.isUnattended) {
    const reason = `${made} needs a person's approval, and no terminal, page, chat or client is connected that could ask one. ${afterTaint(subject)}`;
    return { rule: "trifecta", reason };
  }
  const tainted = isClosed ? ` It has read untrusted input (${subject.caller.untrusted}).` : "";
  const shown = shownCall(input);
  if (shown === undefined) {
    const reason = `A person has to allow ${made}, and the call is too long to be shown whole (more than ${longestApproval} characters). Make a shorter call.`;
    return { rule: "cannot_be_shown", reason };
  }
  const question = `May "${profile.id}" call ${tool.name} with ${shown}?${tainted} (yes or no)`;
  const consent = await subject.approve(call, question);
  // After a stop was acknowledged, no call may begin.
  subject.checkStopped();
  if (consent.approved) return undefined;
  const { said } = consent;
  const why = describeSaid(said);
  const given = said !== undefined && { said };
  if (isClosed) {
    const reason = `No person allowed ${made}.${why} ${afterTaint(subject)}`;
    return { rule: "trifecta", reason, ...given };
  }
  return {
    rule: "not_approved",
    reason: `${made} was not approved.${why} Find another way, or report that.`,
    ...given,
  };
}

function afterTaint({ caller: { untrusted } }: GateSubject): string {
  return `After untrusted input (${untrusted}), calls leave this machine unasked only for hosts that the person configured or named, and for addresses that are already in the conversation, exactly as they are there. Continue without it, or say what you need.`;
}

interface JudgedCall {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
  readonly context: ToolContext;
  /** Egress after untrusted input, to a host or tool that is not allowed. */
  readonly isClosed: boolean;
}

async function subjectsOf(
  tool: Tool,
  input: unknown,
  context: ToolContext,
): Promise<CallSubjects | undefined> {
  try {
    return await tool.about?.(input, context);
  } catch {
    // Unknown subjects: every rule takes the stricter reading.
    return undefined;
  }
}

/**
 * The whole call, with hidden characters made visible: a person approves exactly what they read.
 * Undefined when it is too long to be shown; then the call is refused without asking.
 */
function shownCall(input: unknown): string | undefined {
  const text = visibleJson(input);
  return text.length > longestApproval ? undefined : text;
}

interface Refusal {
  readonly rule: string;
  readonly reason: string;
  /** The reason that a person gave for a no. */
  readonly said?: string;
}

/** A call that had started before a crash cannot be denied any more: its outcome is unknown. */
export function refuse(
  subject: Pick<GateSubject, "caller" | "record">,
  call: ToolCall,
  wasStarted: boolean,
  { reason, rule, said }: Refusal,
): ToolResult {
  if (!wasStarted)
    return deny(subject, call, { rule, reason, ...(said !== undefined && { said }) });
  return outcomeUnknown(subject, call, { code: "call_interrupted", rule, text: reason });
}

function outcomeUnknown(
  subject: Pick<GateSubject, "caller" | "record">,
  call: ToolCall,
  cause: Extract<CallCause, { code: "call_interrupted" }>,
): ToolResult {
  const error = describeCallCause(cause, { tool: call.name });
  const payload = { call_id: call.id, tool: call.name, cause, error };
  subject.record({ type: "agent.tool_outcome_unknown", sub_agent_id: subject.caller.id, payload });
  return { text: error, isError: true };
}

/** The tool did not end in time. */
export class ToolDeadline extends Error {
  override readonly cause: CallCause;

  constructor(cause: Extract<CallCause, { code: "tool_deadline" }>) {
    super(describeCallCause(cause, cause));
    this.name = "ToolDeadline";
    this.cause = cause;
  }
}

/** A reason can quote the model's arguments, which can be megabytes. */
const longestReason = 2000;

/** A denial is an event and an error result, in the same words. */
function deny(
  subject: Pick<GateSubject, "caller" | "record">,
  call: ToolCall,
  { reason, ...refused }: Refusal,
): ToolResult {
  const error = clip(reason, longestReason + 1);
  const payload = { call_id: call.id, tool: call.name, ...refused, error };
  subject.record({ type: "agent.tool_denied", sub_agent_id: subject.caller.id, payload });
  return { text: error, isError: true };
}

interface Capped {
  readonly text: string;
  readonly artifact?: ArtifactReference;
}

/** The output where it fits; undefined: `cap` has to cut it. */
function uncapped(result: ToolResult, caller: GateCaller): Capped | undefined {
  const { text } = result;
  const limit = shownBytesOf(result, caller);
  // A UTF-16 unit is at most three bytes: most need no counting.
  const isWhole = text.length * 3 <= limit || Buffer.byteLength(text) <= limit;
  return isWhole ? { text } : undefined;
}

function shownBytesOf({ shownBytes }: ToolResult, { outputBytes }: GateCaller): number {
  return Math.min(outputBytes, shownBytes ?? Number.POSITIVE_INFINITY);
}

/** A large output is kept as an artifact; the conversation and the log get its beginning. */
async function cap(result: ToolResult, caller: GateCaller): Promise<Capped> {
  const { text } = result;
  const limit = shownBytesOf(result, caller);
  const bytes = Buffer.byteLength(text);
  const artifact = await caller.keepArtifact(text);
  return {
    text: `${headOfBytes(text, limit)}\n[… cut: ${bytes} bytes in all, kept as ${artifact.hash.slice(0, 12)}]`,
    artifact,
  };
}

export function completion(
  call: ToolCall,
  result: ToolResult,
  capped: Capped,
  delivered: readonly string[] | undefined,
): NewEvent<"agent.tool_completed">["payload"] {
  return {
    call_id: call.id,
    tool: call.name,
    output: capped.text,
    ...(capped.artifact && {
      truncated: true,
      bytes: capped.artifact.bytes,
      hash: capped.artifact.hash,
      artifact: capped.artifact,
    }),
    ...(delivered && { delivered }),
    ...(result.files && { files: result.files }),
    ...exitCodeOf(result),
    ...(result.connections && { connections: result.connections }),
    ...(result.memory && { memory: result.memory }),
    ...(result.exit !== undefined && { exit: result.exit }),
  };
}

/** Only integers: JSON would store NaN and the like as null. */
function exitCodeOf({ exitCode }: ToolResult): { readonly exit_code?: number } {
  return exitCode !== undefined && Number.isSafeInteger(exitCode) ? { exit_code: exitCode } : {};
}

/** Users' tools may be untyped JavaScript. */
function asResult(output: string | ToolResult | null | undefined): ToolResult {
  if (typeof output === "string") return { text: output };
  if (typeof output?.text === "string") return output;
  throw new TypeError("the tool returned neither text nor a result");
}

function sentence(error: unknown): string {
  if (error instanceof CallDenied) return `Refused (${error.rule}): ${error.message}`;
  return `Error: ${messageOf(error)}`;
}
