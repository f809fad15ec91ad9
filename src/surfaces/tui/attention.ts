import type { Io } from "../cli/io.ts";
import { printableLine } from "../cli/printable.ts";
import { terminalLetters } from "../cli/style.ts";
import { type ChatState, openQuestions } from "./chat-state.ts";
import type { ChatStore } from "./chat-store.ts";

/** Consoles without a title, which would show the text of one. */
const withoutTitle = /^(?:linux|vt\d\d\d|ansi|cons25)/;
const saveTitle = "\u001b[22;0t";
const restoreTitle = "\u001b[23;0t";
const bell = "\u0007";

/**
 * Calls a person who looks elsewhere: the title of the terminal says what the chat does, and the bell
 * rings once for each question.
 */
export class Attention {
  readonly #io: Pick<Io, "environment" | "stdout">;
  readonly #folder: string;
  readonly #hasTitle: boolean;
  readonly #stop: () => void;
  readonly #rung = new Set<string>();
  #title = "";

  constructor(store: ChatStore, folder: string, io: Pick<Io, "environment" | "stdout">) {
    this.#io = io;
    this.#folder = folder;
    this.#hasTitle = !withoutTitle.test(io.environment["TERM"] ?? "");
    if (this.#hasTitle) io.stdout.write(saveTitle);
    this.#show(store.state);
    this.#stop = store.subscribe(() => this.#show(store.state));
  }

  close(): void {
    this.#stop();
    if (this.#hasTitle) this.#io.stdout.write(restoreTitle);
  }

  #show(state: ChatState): void {
    const fresh = openQuestions(state).filter(({ askId }) => !this.#rung.has(askId));
    for (const { askId } of fresh) this.#rung.add(askId);
    if (fresh.length > 0) this.#io.stdout.write(bell);
    const title = titleOf(state, this.#folder);
    if (!this.#hasTitle || title === this.#title) return;
    this.#title = title;
    this.#io.stdout.write(`\u001b]2;${terminalLetters(this.#io.environment)(title)}${bell}`);
  }
}

/** The state comes first: titles are cut at their end. */
function titleOf(state: ChatState, folder: string): string {
  const where = printableLine(folder).slice(0, 60);
  const open = openQuestions(state).length;
  const isAtWork = state.turn !== null || state.isSending;
  const what = open > 0 ? "? asks you" : isAtWork ? "* working" : "ready";
  return `${what} - ${where} - mandate`;
}
