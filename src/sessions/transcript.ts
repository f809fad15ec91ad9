import type { NewEvent, RecordedCall } from "../events/event.ts";
import type { Message, ToolCall } from "../ports/model.ts";
import { compact } from "./compact.ts";

/** A call whose result is not in the conversation yet. */
export interface PendingCall {
  readonly call: ToolCall;
  /** It was under way when the log ends: after a crash nobody knows what it did. */
  started: boolean;
  result: Message | undefined;
}

/**
 * What was said to and by one agent in its current attempt: a fold of its events. The live agent
 * and the one taken up after a crash go through the same function, so they cannot disagree.
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
  /** Calls in a row that no contract could have let through: unknown, malformed, not fitting. */
  invalidStreak = 0;
  /** Calls in a row that the contract refused. */
  deniedStreak = 0;
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
  #unanswered = 0;
  /** Bytes of remarks since the request under way was planned: its count will not hold them. */
  #saidMeanwhile = 0;

  /** `opening`: what stands before the first turn; a resumed delegation opens with an old one's. */
  constructor(opening: string | readonly Message[]) {
    this.#opening = typeof opening === "string" ? [{ role: "user", text: opening }] : opening;
    this.messages = [...this.#opening];
    this.bytesSince = totalSize(this.messages);
    for (const message of this.#opening) {
      if (message.role === "assistant") for (const { id } of message.calls) this.#callIds.add(id);
    }
  }

  apply(event: NewEvent): void {
    if (isConsequence(event)) this.unjudged = null;
    switch (event.type) {
      case "agent.budget_reserved":
        this.#saidMeanwhile = 0;
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
        break;
      }
      case "agent.tool_completed":
        this.invalidStreak = 0;
        this.deniedStreak = 0;
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
        if (event.payload.from === "repair") {
          this.repairs++;
          this.exit = null;
          this.exitTool = null;
        }
        this.#remark(event.payload);
        break;
      case "agent.compacted":
        this.compactions++;
        this.messages = compact(this.messages);
        // The provider's count is about a conversation that no longer exists.
        this.countedTokens = null;
        this.bytesSince = totalSize(this.messages);
        break;
      default:
    }
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
   * end what a person says next, if it is a person who goes on with it.
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
    const said: Message = { role: "user", text: next };
    return [...this.messages, ...done, ...missing, ...this.#later, said];
  }

  #restart(): void {
    this.messages = [...this.#opening];
    this.pending = [];
    this.turns = 0;
    this.countedTokens = null;
    this.bytesSince = totalSize(this.messages);
    this.invalidStreak = 0;
    this.deniedStreak = 0;
    this.repeats = 0;
    this.emptyTurns = 0;
    this.cutTurns = 0;
    this.nudges = 0;
    this.repairs = 0;
    this.compactions = 0;
    this.exit = null;
    this.exitTool = null;
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
    this.messages.push({
      role: "assistant",
      text,
      calls,
      ...(payload.provider_data === undefined ? {} : { providerData: payload.provider_data }),
    });
    this.countedTokens = payload.usage.prompt + payload.usage.completion;
    this.bytesSince = this.#saidMeanwhile;
    if (calls.length === 0) return;
    for (const { id } of calls) this.#callIds.add(id);
    this.pending = calls.map((call) => ({ call, started: false, result: undefined }));
    this.#byId = new Map(this.pending.map((pending) => [pending.call.id, pending]));
    this.#unanswered = calls.length;
  }

  #countRepeats(calls: readonly RecordedCall[]): void {
    const [only] = calls;
    if (calls.length !== 1 || only === undefined || pollingTools.has(only.name)) {
      this.#signature = "";
      this.repeats = 0;
      return;
    }
    const signature = `${only.name} ${JSON.stringify(only.input)}`;
    this.repeats = signature === this.#signature ? this.repeats + 1 : 1;
    this.#signature = signature;
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
  #remark({ from, message, severity }: NewEvent<"agent.interjected">["payload"]): void {
    const isWatchers = from.startsWith("watcher:");
    if (isWatchers && severity === "info") return;
    const text = isWatchers
      ? `Somebody who watches your work says (${severity}): ${message}`
      : message;
    if (this.pending.length > 0) this.#later.push({ role: "user", text });
    else this.#say({ role: "user", text });
  }

  #say(message: Message): void {
    this.messages.push(message);
    const size = sizeOf(message);
    this.bytesSince += size;
    this.#saidMeanwhile += size;
  }
}

const interruption = "You were interrupted here. Go on from where you were.";

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

/** Refused for what others did, the provider or somebody who watches: that is no stubbornness. */
const notItsOwn: ReadonlySet<string> = new Set(["answer_cut", "interjected"]);

const modelMistakes: ReadonlySet<string> = new Set([
  "unknown_tool",
  "malformed_call",
  "invalid_input",
]);

/** Asking the same again is how one waits with these. */
const pollingTools: ReadonlySet<string> = new Set([
  "spawn_await",
  "list_sub_agents",
  "get_delegation_result",
]);

function totalSize(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

function sizeOf(message: Message): number {
  const text = Buffer.byteLength(message.text) + perMessage;
  if (message.role !== "assistant" || message.calls.length === 0) return text;
  return text + Buffer.byteLength(JSON.stringify(message.calls));
}

/** Roles, separators and ids that a provider adds around each message. */
const perMessage = 16;
