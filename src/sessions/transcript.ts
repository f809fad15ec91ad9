import type { NewEvent, RecordedCall } from "../events/event.ts";
import type { Message, ToolCall } from "../ports/model.ts";
import { shorten, shortenAsBefore, sizeOf, sizeOfAll } from "./compact.ts";

/** A call whose result is not in the conversation yet. */
export interface PendingCall {
  readonly call: ToolCall;
  /** It was under way when the log ends: after a crash its effect is unknown. */
  started: boolean;
  result: Message | undefined;
}

/**
 * What was said to and by one agent in its current attempt: a fold of its events. The live agent
 * and the one recovered after a crash go through the same function, so they cannot disagree.
 */
export class Transcript {
  messages: Message[];
  pending: PendingCall[] = [];
  /** Model turns in this attempt. */
  turns = 0;
  /** What the provider counted for the last request and its answer; null before the first. */
  countedTokens: number | null = null;
  /** Bytes added to the conversation since that count. */
  bytesSince = 0;
  /** Bytes of the whole conversation. */
  bytes = 0;
  /** The last prompt that the provider counted: its tokens, and the bytes of its conversation. */
  measured: { readonly tokens: number; readonly bytes: number } | null = null;
  /** Calls in a row that no contract could have let through: unknown, malformed, not fitting. */
  invalidStreak = 0;
  /** Calls in a row that the contract refused. */
  deniedStreak = 0;
  /** Its last call failed because a person did not consent. */
  wasNotApproved = false;
  /** How often in a row the same calls were made. */
  repeats = 0;
  emptyTurns = 0;
  /** Answers in a row that the provider cut at its length limit. */
  cutTurns = 0;
  nudges = 0;
  compactions = 0;
  bestText = "";
  exit: string | null = null;
  /** The tool that ended it; null as long as none has. */
  exitTool: string | null = null;
  repairs = 0;
  /** It was told which of its children still run, before its first final answer. */
  toldOfChildren = false;
  /** The latest turn was the last that the budget allows: its tools were withdrawn. */
  withdrawn = false;
  /** The turn that nothing has followed from yet. */
  unjudged: NewEvent<"agent.model_turn">["payload"] | null = null;
  /** Ids of calls, over all attempts: results are matched by them, in the log too. */
  readonly #callIds = new Set<string>();
  readonly #opening: readonly Message[];
  #signature = "";
  #byId: Map<string, PendingCall> | null = null;
  /** Remarks that came while calls were open. */
  #later: Message[] = [];
  /** Delivered messages: another attempt begins with the task and these. */
  readonly #sent: Message[] = [];
  #unanswered = 0;
  /** Bytes of remarks since the request under way was planned: its count will not hold them. */
  #saidMeanwhile = 0;
  /** Bytes and messages of the conversation that the request under way was planned for. */
  #planned = 0;
  #plannedMessages = 0;
  /** What the last count was about: so many messages, and the answer. */
  #counted: { readonly messages: number; readonly answer: Message } | null = null;

  /** `opening`: what stands before the first turn; a resumed delegation opens with an old one's. */
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
        this.#saidMeanwhile = 0;
        this.#planned = this.bytes;
        this.#plannedMessages = this.messages.length;
        break;
      case "agent.subagent_attempt":
        this.#restart();
        break;
      case "agent.model_turn":
        this.#turn(event.payload);
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
        else if (!notItsOwn.has(event.payload.rule)) this.deniedStreak++;
        // What was not done was not repeated: refusals have their own streaks, with their own end.
        this.repeats = 0;
        this.#result(event.payload.call_id, event.payload.tool, event.payload.error, true);
        break;
      case "agent.interjected":
        if (event.payload.from === "runtime") this.nudges++;
        if (event.payload.from === "person") this.nudges = 0;
        if (event.payload.from === "repair") this.repairs++;
        if (event.payload.cause?.code === "children_running") this.toldOfChildren = true;
        // Another turn follows, so the exit that was called no longer counts.
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

  /** What the provider counted last, and the messages that its count does not hold. */
  get counted(): { readonly tokens: number; readonly since: readonly Message[] } | null {
    if (this.countedTokens === null || this.#counted === null) return null;
    const { answer, messages } = this.#counted;
    const since = this.messages.slice(messages).filter((message) => message !== answer);
    return { tokens: this.countedTokens, since };
  }

  /** Bytes that go back to the provider beside the messages, and that no count holds. */
  get uncountedData(): number {
    if (this.countedTokens !== null) return 0;
    return this.messages.reduce((sum, message) => {
      if (message.role !== "assistant" || message.providerData === undefined) return sum;
      return sum + Buffer.byteLength(JSON.stringify(message.providerData));
    }, 0);
  }

  /** Providers promise unique ids for calls, and do not always keep that promise. */
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
   * The conversation as one that continues it should find it: no call without a result, and at the
   * end what a person says next, if a person continues it.
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

  #turn(payload: NewEvent<"agent.model_turn">["payload"]): void {
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
      // Nothing was said: there is no message to keep, and providers refuse empty ones.
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
    this.bytesSince = this.#saidMeanwhile;
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
    // The conversation gets them in the order of the calls, however they finished.
    if (--this.#unanswered > 0) return;
    for (const { result } of this.pending) if (result) this.#say(result);
    this.pending = [];
    this.#byId = null;
    for (const message of this.#later.splice(0)) this.#say(message);
  }

  /** A watcher's `info` is for the inbox; nothing comes between calls and their results. */
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

  /** The provider's count, if there was one, is about a conversation that no longer exists. */
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
    this.#saidMeanwhile += size;
  }
}

/**
 * A message to the agent, as its model reads it. Addresses in it count as known addresses, unless its
 * sender had read untrusted input.
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

/** Whether the agent takes another turn for it, whatever it had handed in. */
function isAskedAgain({ from, message_id }: NewEvent<"agent.interjected">["payload"]): boolean {
  return from === "repair" || from === "background" || message_id !== undefined;
}

/** Whether it can only follow once a turn was judged. Watchers and servers speak at any moment. */
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

/** Refused for what others did, the provider or a watcher: that is no stubbornness. */
const notItsOwn: ReadonlySet<string> = new Set(["answer_cut", "interjected"]);

const modelMistakes: ReadonlySet<string> = new Set([
  "unknown_tool",
  "malformed_call",
  "invalid_input",
]);
