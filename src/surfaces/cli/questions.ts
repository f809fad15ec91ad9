import { type Delegation, type OpenAsk, openAskOf, shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { wrapText } from "../tui/draw/wrap-text.ts";
import { countOf, formatSpan } from "./amounts.ts";
import type { Display } from "./display.ts";
import type { Io } from "./io.ts";
import { indented, printable, printableLine } from "./printable.ts";
import type { RunView } from "./run-view.ts";
import { styleFor } from "./style.ts";

type Answer = (askId: string, text: string) => Promise<boolean>;

interface Question {
  readonly id: string;
  readonly text: string;
  readonly who: string;
  readonly deadlineAt: number;
  readonly fallback: string | null;
  readonly isApproval: boolean;
}

/**
 * Asks the person at the terminal the questions of all agents, one at a time. Without a terminal it
 * prints the command that answers. A question that was answered elsewhere or timed out is withdrawn.
 */
export class Questions {
  readonly #io: Io;
  readonly #display: Display;
  readonly #answer: Answer;
  readonly #known = new Set<string>();
  readonly #seen = new WeakSet<RunView>();
  readonly #waiting: Question[] = [];
  #current: { readonly id: string; readonly control: AbortController } | undefined;

  constructor(io: Io, display: Display, answer: Answer) {
    this.#io = io;
    this.#display = display;
    this.#answer = answer;
  }

  /** Puts every open question of the run to the person, and withdraws an answered one. */
  follow(event: StoredEvent, view: RunView): void {
    if (event.type === "agent.answered") this.#withdraw(event.payload.ask_id);
    // A run that was resumed may have questions from before; later ones are events.
    if (!this.#seen.has(view)) {
      this.#seen.add(view);
      for (const delegation of view.state.delegations.values()) this.#putOpen(delegation);
    } else if (event.type === "agent.asked") {
      const delegation = view.state.delegations.get(event.sub_agent_id ?? "");
      if (delegation !== undefined) this.#putOpen(delegation);
    }
  }

  #putOpen(delegation: Delegation): void {
    const ask = openAskOf(delegation);
    if (ask !== null) this.#put(ask, `${shownName(delegation)} ${delegation.id}`);
  }

  stop(): void {
    this.#waiting.length = 0;
    this.#current?.control.abort();
  }

  #put(ask: OpenAsk, who: string): void {
    if (this.#known.has(ask.id)) return;
    this.#known.add(ask.id);
    const question = {
      id: ask.id,
      text: ask.question,
      who: printableLine(who),
      deadlineAt: ask.deadlineAt,
      fallback: ask.default,
      isApproval: ask.kind === "approval",
    };
    this.#waiting.push(question);
    void this.#next();
  }

  #withdraw(id: string): void {
    const place = this.#waiting.findIndex((question) => question.id === id);
    if (place >= 0) this.#waiting.splice(place, 1);
    if (this.#current?.id === id) this.#current.control.abort();
  }

  async #next(): Promise<void> {
    if (this.#current !== undefined) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    if (this.#io.ask === undefined) {
      this.#display.say(this.#describe(question));
      this.#sayCommand(question);
      return this.#next();
    }
    const control = new AbortController();
    this.#current = { id: question.id, control };
    this.#display.pause();
    try {
      await this.#show(question, control.signal);
      await this.#read(question, control.signal);
    } catch {
      // The question was withdrawn, or the person closed the input and the question is still open.
      if (!control.signal.aborted) this.#sayCommand(question);
    }
    this.#current = undefined;
    if (this.#waiting.length === 0) this.#display.proceed();
    return this.#next();
  }

  /** Shows long text a page at a time, so that a person can read all of what they approve. */
  async #show(question: Question, signal: AbortSignal): Promise<void> {
    const [head = "", ...lines] = this.#describe(question).split("\n");
    this.#display.say(head);
    // Two lines stay free: the one before the page, and the line that is typed.
    const room = this.#io.stderr.isTerminal ? Math.max(3, this.#io.stderr.rows - 3) : lines.length;
    for (let at = 0; at < lines.length; at += room) {
      this.#display.say(lines.slice(at, at + room).join("\n"));
      const left = lines.length - at - room;
      if (left > 0)
        await this.#io.ask?.(`  Enter shows more (${countOf(left, "line")} left): `, signal);
    }
  }

  /** Asks until the text is a valid answer. */
  async #read({ id, isApproval }: Question, signal: AbortSignal): Promise<void> {
    const prompt = isApproval ? "  yes or no: " : "  your answer: ";
    for (;;) {
      const text = (await this.#io.ask?.(prompt, signal)) ?? "";
      try {
        const counted = await this.#answer(id, text);
        if (!counted) this.#display.say("  It was answered already.");
        return;
      } catch (error) {
        if (!(error instanceof MandateError) || error.code !== "usage") throw error;
        this.#display.say(`  ${error.message}`);
      }
    }
  }

  #sayCommand({ id, isApproval }: Question): void {
    const word = isApproval ? "yes (or no)" : '"…"';
    this.#display.say(
      `  Answer it from another terminal: ${this.#io.program} answer ${id} ${word}`,
    );
  }

  #describe({ text, who, deadlineAt, fallback, isApproval }: Question): string {
    const { paint } = styleFor(this.#io.stderr, this.#io);
    const time = formatSpan(Math.max(0, deadlineAt - this.#io.now()));
    const then =
      fallback !== null
        ? `then the answer is "${printableLine(fallback)}"`
        : isApproval
          ? "then it is refused"
          : "then the agent continues without an answer";
    return [
      `${paint.warn("?")} ${paint.strong(who)} asks ${paint.dim(`(${time} to answer, ${then})`)}`,
      this.#quote(text),
    ].join("\n");
  }

  /**
   * At a terminal each line has a bar before it and is wrapped here, so that no text of an agent can
   * look like a line of this program or like an answer.
   */
  #quote(text: string): string {
    const { columns, isTerminal } = this.#io.stderr;
    if (!isTerminal) return indented(text);
    const { glyphs, paint } = styleFor(this.#io.stderr, this.#io);
    const bar = paint.dim(glyphs.stem.trimEnd());
    return wrapText(printable(text).trimEnd(), columns - 6)
      .map((line) => `  ${bar} ${line}`)
      .join("\n");
  }
}
