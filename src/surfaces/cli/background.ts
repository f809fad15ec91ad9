import { labelOf } from "../../application/commands/runs/describe-run.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Arguments } from "./arguments.ts";
import type { CommandOption } from "./command.ts";
import { printResult } from "./commands/result.ts";
import { printableLine } from "./printable.ts";
import { startDetached } from "./start-detached.ts";
import type { AnsweredEarly, Work } from "./work-on.ts";

const ways = ["wait", "detach", "cancel"] as const;
type Way = (typeof ways)[number];

export const backgroundOption: CommandOption = {
  type: "text",
  value: "WAY",
  help: "sub-agents that still run after the answer: wait (so by default), detach or cancel",
};

export function backgroundOf(given: Arguments): Way {
  const said = given.text("background") ?? "wait";
  const way = ways.find((one) => one === said);
  if (way !== undefined) return way;
  throw new MandateError("usage", `--background takes ${ways.join(", ")}; it is "${said}".`);
}

/** Prints an answer as soon as it is there, and treats the sub-agents that still run then. */
export class Background {
  /** Whether the answer stands on standard output. */
  isPrinted = false;
  readonly #given: Arguments;
  readonly #work: Work;
  readonly #way: Way;

  constructor(given: Arguments, work: Work) {
    this.#given = given;
    this.#work = work;
    this.#way = backgroundOf(given);
  }

  async answered(answer: AnsweredEarly): Promise<"wait" | "detached"> {
    const { display, io } = this.#work;
    if (!this.#given.flag("json")) {
      display.clearFor(() => printResult(answer.result, io));
      this.isPrinted = true;
    }
    switch (this.#way) {
      case "wait":
        display.say(this.#describe(answer));
        return "wait";
      case "cancel":
        await this.#cancel(answer);
        return "wait";
      case "detach":
        // Workers work on a distributed run, whichever process started it.
        if (answer.run.spread === null) await startDetached(answer.run, this.#given, io);
        return "detached";
      default:
        return this.#way satisfies never;
    }
  }

  #describe({ children }: AnsweredEarly): string {
    const { program } = this.#work.io;
    const [first] = children;
    const count = children.length === 1 ? "1 sub-agent" : `${children.length} sub-agents`;
    const names = children.map((child) => printableLine(labelOf(child))).join(", ");
    const leave = `Ctrl-C stops them as their contracts say, ${program} cancel ${first?.id} cancels one`;
    return `Waiting for ${count} in the background: ${names}. ${leave}; --background detach lets them run without this terminal.`;
  }

  async #cancel({ children }: AnsweredEarly): Promise<void> {
    const { display, runtime } = this.#work;
    for (const child of children) {
      await runtime.engine.cancel(child.id, "cancelled after the answer, by --background cancel");
      display.say(`${printableLine(labelOf(child))} was cancelled.`);
    }
  }
}
