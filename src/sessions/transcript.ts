import type { NewEvent, RecordedCall } from "../events/event.ts";
import type { ProgramStop } from "../events/program-payloads.ts";
import type { Message, ToolCall } from "../ports/model.ts";
import { shorten, shortenAsBefore, sizeOf, sizeOfAll } from "./compact.ts";

/** A call whose result is not in the conversation yet. */
export interface PendingCall {
  readonly call: ToolCall;
  /** The call has started: after a crash its effect is unknown. */
  started: boolean;
  result: Message | undefined;
}

/** What is judged of a turn. Of an agent program's turn, the gateway has judged the models. */
export type UnjudgedTurn = Pick<
  NewEvent<"agent.model_turn">["payload"],
  "calls" | "finish_reason" | "last" | "text"
> &
  Partial<Pick<NewEvent<"agent.model_turn">["payload"], "requested" | "served">>;

/**
 * The conversation of an agent's current attempt for its model, as a fold of its events. Live and recovered
 * delegations use the same fold.
 */
export class Transcript {
  messages: Message[];
  pending: PendingCall[] = [];
  /** Model turns in this attempt. */
  turns = 0;
  /** The provider's count of the last request and its answer; null before the first. */
  countedTokens: number | null = null;
  /** Bytes added to the conversation since that count. */
  bytesSince = 0;
  /** Bytes of the whole conversation. */
  bytes = 0;
  /** The last counted prompt: its tokens, and the bytes of its conversation. */
  measured: { readonly tokens: number; readonly bytes: number } | null = null;
  /** Consecutive calls that were unknown, malformed or had an invalid input. */
  invalidStreak = 0;
  /** Consecutive calls that the contract denied. */
  deniedStreak = 0;
  /** The last call failed because a person did not consent. */
  wasNotApproved = false;
  /** How often in a row the same call was made. */
  repeats = 0;
  emptyTurns = 0;
  /** Consecutive answers that were cut at the length limit. */
  cutTurns = 0;
  nudges = 0;
  compactions = 0;
  bestText = "";
  exit: string | null = null;
  /** The exit tool that ended it; null: none yet. */
  exitTool: string | null = null;
  repairs = 0;
  /** The agent was told which children still run, before its first final answer. */
  toldOfChildren = false;
  /** The latest turn was the last one in the budget, without tools. */
  withdrawn = false;
  /** The turn that the engine has not judged yet. */
  unjudged: UnjudgedTurn | null = null;
  /** The ids of all calls over all attempts, by which results are matched. */
  readonly #callIds = new Set<string>();
  readonly #opening: readonly Message[];
  #signature = "";
  #byId: Map<string, PendingCall> | null = null;
  /** Remarks that arrived while calls were open. */
  #later: Message[] = [];
  /** Delivered messages: a new attempt begins with the task and these. */
  readonly #sent: Message[] = [];
  #unanswered = 0;
  /** Bytes of remarks since the current request was planned, which its count will not include. */
  #bytesSincePlan = 0;
  /** The bytes and messages of the conversation when the current request was planned. */
  #planned = 0;
  #plannedMessages = 0;
  /** The last count covers this number of messages, and the answer. */
  #counted: { readonly messages: number; readonly answer: Message } | null = null;

  /** `opening`: the task, or the conversation that is continued. */
  constructor(opening: string | readonly Message[]) {
    this.#opening = typeof opening === "string" ? [{ role: "user", text: opening }] : opening;
    this.messages = [...this.#opening];
    this.#measure();
    for (const message of this.#opening) {
      if (message.role === "assistant") for (const { id } of message.calls) this.#callIds.add(id);
    }
  }

  apply(event: NewEvent): void {
    if (isConsequence(event)) this.unjudged = null;
    switch (event.type) {
      case "agent.budget_reserved":
        this.#bytesSincePlan = 0;
        this.#planned = this.bytes;
        this.#plannedMessages = this.messages.length;
        break;
      case "agent.subagent_attempt":
        this.#restart();
        break;
      case "agent.model_turn":
        this.#turn(event.payload);
        break;
      case "agent.program_reported":
        if (event.payload.what === "text") this.#reported(event.payload.text);
        break;
      case "agent.program_answered":
        this.#answered(event.payload);
        break;
      case "agent.tool_started": {
        const pending = this.#byId?.get(event.payload.call_id);
        if (pending) pending.started = true;
        if (event.payload.polls) this.#forgetRepeats();
        break;
      }
      case "agent.tool_completed":
        this.invalidStreak = 0;
        this.deniedStreak = 0;
        this.wasNotApproved = false;
        if (event.payload.exit !== undefined) {
          this.exit = event.payload.exit;
          this.exitTool = event.payload.tool;
        }
        this.#result(
          event.payload.call_id,
          event.payload.tool,
          event.payload.output,
          event.payload.is_error === true,
        );
        break;
      case "agent.tool_failed":
      case "agent.tool_outcome_unknown":
        this.invalidStreak = 0;
        this.deniedStreak = 0;
        this.wasNotApproved = event.payload.cause.code === "not_approved";
        this.#result(event.payload.call_id, event.payload.tool, event.payload.error, true);
        break;
      case "agent.tool_denied":
        if (modelMistakes.has(event.payload.rule)) this.invalidStreak++;
        else if (!notCounted.has(event.payload.rule)) this.deniedStreak++;
        // A denied call is not a repetition: denials have their own streaks.
        this.repeats = 0;
        this.#result(event.payload.call_id, event.payload.tool, event.payload.error, true);
        break;
      case "agent.interjected":
        if (event.payload.from === "runtime") this.nudges++;
        if (event.payload.from === "person") this.nudges = 0;
        if (event.payload.from === "repair") this.repairs++;
        if (event.payload.cause?.code === "children_running") this.toldOfChildren = true;
        // The agent is asked again, so an earlier exit does not count.
        if (isAskedAgain(event.payload)) {
          this.exit = null;
          this.exitTool = null;
        }
        this.#remark(event.payload);
        break;
      case "agent.compacted": {
        const { shortening } = event.payload;
        this.compactions++;
        this.messages = shortening
          ? shorten(this.messages, shortening)
          : shortenAsBefore(this.messages);
        this.#measure();
        break;
      }
      default:
    }
  }

  /** The provider's last count, and the messages that it does not include. */
  get counted(): { readonly tokens: number; readonly since: readonly Message[] } | null {
    if (this.countedTokens === null || this.#counted === null) return null;
    const { answer, messages } = this.#counted;
    const since = this.messages.slice(messages).filter((message) => message !== answer);
    return { tokens: this.countedTokens, since };
  }

  /** The bytes of provider data that no count includes. */
  get uncountedData(): number {
    if (this.countedTokens !== null) return 0;
    return this.messages.reduce((sum, message) => {
      if (message.role !== "assistant" || message.providerData === undefined) return sum;
      return sum + Buffer.byteLength(JSON.stringify(message.providerData));
    }, 0);
  }

  /** Renames calls with duplicate ids, which some providers send. */
  withUniqueIds(calls: readonly ToolCall[]): readonly ToolCall[] {
    const taken = new Set<string>();
    const next = new Map<string, number>();
    return calls.map((call) => {
      let id = call.id;
      let suffix = next.get(call.id) ?? 2;
      while (taken.has(id) || this.#callIds.has(id)) id = `${call.id}_${suffix++}`;
      if (id !== call.id) next.set(call.id, suffix);
      taken.add(id);
      return id === call.id ? call : { ...call, id };
    });
  }

  /**
   * The conversation for a delegation that continues it: every call has a result, and the last message is
   * the next task.
   */
  asOpening(next = interruption): readonly Message[] {
    const missing = this.pending
      .filter(({ result }) => result === undefined)
      .map(
        ({ call }): Message => ({
          role: "tool",
          callId: call.id,
          tool: call.name,
          text: "Interrupted: the outcome of this call is unknown. Look before you repeat it.",
          isError: true,
        }),
      );
    const done = this.pending.flatMap(({ result }) => result ?? []);
    const said: Message =
      next === interruption
        ? { role: "user", text: next }
        : { role: "user", text: next, from: "caller" };
    return [...this.messages, ...done, ...missing, ...this.#later, said];
  }

  #restart(): void {
    this.messages = [...this.#opening, ...this.#sent];
    this.pending = [];
    this.turns = 0;
    this.#measure();
    this.invalidStreak = 0;
    this.deniedStreak = 0;
    this.wasNotApproved = false;
    this.repeats = 0;
    this.emptyTurns = 0;
    this.cutTurns = 0;
    this.nudges = 0;
    this.repairs = 0;
    this.compactions = 0;
    this.exit = null;
    this.exitTool = null;
    this.toldOfChildren = false;
    this.withdrawn = false;
    this.unjudged = null;
    this.#signature = "";
    this.#byId = null;
    this.#later = [];
  }

  /** What an agent program said between its calls. */
  #reported(text: string): void {
    if (text === "") return;
    this.bestText = text;
    this.#say({ role: "assistant", text, calls: noCalls });
  }

  /** The turn of an agent program is judged as one of our own. */
  #answered({ stop, text }: NewEvent<"agent.program_answered">["payload"]): void {
    this.turns++;
    this.cutTurns = stop === "max_tokens" ? this.cutTurns + 1 : 0;
    this.emptyTurns = text === "" ? this.emptyTurns + 1 : 0;
    this.#reported(text);
    // What it handed in by an exit tool counts, whatever it said afterwards.
    if (this.exit === null) this.unjudged = { text, finish_reason: finishOf[stop] };
  }

  #turn(payload: NewEvent<"agent.model_turn">["payload"]): void {
    // The requests of another program are no part of a conversation of ours.
    if (payload.request !== undefined) return;
    this.turns++;
    this.unjudged = payload;
    this.withdrawn = payload.last === true;
    const { usage } = payload;
    if (!usage.estimated) this.measured = { tokens: usage.prompt, bytes: this.#planned };
    const calls = payload.calls ?? noCalls;
    const text = payload.text ?? "";
    if (text !== "") this.bestText = text;
    this.cutTurns = payload.finish_reason === "length" ? this.cutTurns + 1 : 0;
    if (text === "" && calls.length === 0) {
      // Providers reject empty messages, so none is added.
      this.emptyTurns++;
      return;
    }
    this.emptyTurns = 0;
    this.#countRepeats(calls);
    const answer: Message = {
      role: "assistant",
      text,
      calls,
      ...(payload.provider_data === undefined ? {} : { providerData: payload.provider_data }),
    };
    this.messages.push(answer);
    this.bytes += sizeOf(answer);
    this.countedTokens = usage.prompt + usage.completion;
    this.bytesSince = this.#bytesSincePlan;
    this.#counted = { messages: this.#plannedMessages, answer };
    if (calls.length === 0) return;
    for (const { id } of calls) this.#callIds.add(id);
    this.pending = calls.map((call) => ({ call, started: false, result: undefined }));
    this.#byId = new Map(this.pending.map((pending) => [pending.call.id, pending]));
    this.#unanswered = calls.length;
  }

  #countRepeats(calls: readonly RecordedCall[]): void {
    const [only] = calls;
    if (calls.length !== 1 || only === undefined) {
      this.#forgetRepeats();
      return;
    }
    const signature = `${only.name} ${JSON.stringify(only.input)}`;
    this.repeats = signature === this.#signature ? this.repeats + 1 : 1;
    this.#signature = signature;
  }

  #forgetRepeats(): void {
    this.#signature = "";
    this.repeats = 0;
  }

  #result(callId: string, tool: string, text: string, isError: boolean): void {
    const pending = this.#byId?.get(callId);
    if (pending === undefined || pending.result !== undefined) return;
    pending.result = { role: "tool", callId, tool, text, isError };
    // Results are added in the order of the calls, not in the order of their completion.
    if (--this.#unanswered > 0) return;
    for (const { result } of this.pending) if (result) this.#say(result);
    this.pending = [];
    this.#byId = null;
    for (const message of this.#later.splice(0)) this.#say(message);
  }

  /** Ignores a watcher's `info`, which is for the inbox. Remarks never come between calls and results. */
  #remark(remarked: NewEvent<"agent.interjected">["payload"]): void {
    const { from, message, message_id: id, severity } = remarked;
    const isWatchers = from.startsWith("watcher:");
    if (isWatchers && severity === "info") return;
    const text = isWatchers ? `A watcher of your work says (${severity}): ${message}` : message;
    const remark: Message =
      id !== undefined
        ? messageFrom(remarked)
        : from === "person"
          ? { role: "user", text, from }
          : { role: "user", text };
    if (id !== undefined) this.#sent.push(remark);
    if (this.pending.length > 0) this.#later.push(remark);
    else this.#say(remark);
  }

  /** After a change of the whole conversation: the provider's count is no longer valid. */
  #measure(): void {
    this.bytes = sizeOfAll(this.messages);
    this.countedTokens = null;
    this.bytesSince = this.bytes;
  }

  #say(message: Message): void {
    this.messages.push(message);
    const size = sizeOf(message);
    this.bytes += size;
    this.bytesSince += size;
    this.#bytesSincePlan += size;
  }
}

/**
 * A sent message, as the model reads it. Addresses in it count as known, unless its sender is tainted.
 */
function messageFrom({
  carries = [],
  from,
  message,
}: NewEvent<"agent.interjected">["payload"]): Message {
  if (from === "person") {
    return { role: "user", text: `Message from the person behind this run: ${message}`, from };
  }
  const text = `Message from the agent or program that you work for: ${message}`;
  return carries.includes("untrusted")
    ? { role: "user", text }
    : { role: "user", text, from: "caller" };
}

const interruption = "You were interrupted here. Go on from where you were.";

/** Whether the agent makes another turn for it, even after an exit. */
function isAskedAgain({ from, message_id }: NewEvent<"agent.interjected">["payload"]): boolean {
  return from === "repair" || from === "background" || message_id !== undefined;
}

/** Whether the event follows only after a turn was judged. Watchers and servers interject at any time. */
function isConsequence(event: NewEvent): boolean {
  if (event.type !== "agent.interjected") return consequences.has(event.type);
  const { from } = event.payload;
  return from !== "mcp" && !from.startsWith("watcher:");
}

const consequences: ReadonlySet<string> = new Set([
  "agent.subagent_attempt",
  "agent.tool_started",
  "agent.tool_denied",
]);

const noCalls: readonly RecordedCall[] = [];

const finishOf: Readonly<Record<ProgramStop, string>> = {
  end_turn: "stop",
  max_tokens: "length",
  max_turn_requests: "stop",
  refusal: "content-filter",
  cancelled: "stop",
};

/** Denials because of the provider or a watcher do not count against the agent. */
const notCounted: ReadonlySet<string> = new Set(["answer_cut", "interjected"]);

const modelMistakes: ReadonlySet<string> = new Set([
  "unknown_tool",
  "malformed_call",
  "invalid_input",
]);
