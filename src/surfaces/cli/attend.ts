import { basename } from "node:path";
import { labelOf } from "../../application/commands/describe-run.ts";
import { findPlaces } from "../../control/places.ts";
import { type Cause, describeCause } from "../../events/cause.ts";
import type { CloseReason, RunOutcome } from "../../events/close-reason.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { type Arguments, type CommandOption, flag, jsonOption, text } from "./command.ts";
import { printResult, resultPrinter } from "./commands/result.ts";
import { type Display, PlainDisplay, QuietDisplay } from "./display.ts";
import { exitCode, exitCodeOfResult } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { LiveDisplay } from "./live-display.ts";
import { printableLine, printJson } from "./printable.ts";
import { keptChanges, type RunSummary, tellKept, tellOfRun } from "./run-hints.ts";
import { startDetached } from "./start-detached.ts";
import { styleFor } from "./style.ts";
import {
  type AnsweredEarly,
  type StartedRun,
  type StoppedRun,
  type Work,
  type WorkOutcome,
  workOn,
} from "./work-on.ts";

export const attendOptions: Readonly<Record<string, CommandOption>> = {
  json: { ...jsonOption, help: "print the result as one JSON document" },
  quiet: flag("show nothing but questions and the result", "q"),
};

export function displayFor(given: Arguments, io: Io): Display {
  if (given.flag("quiet")) return new QuietDisplay(io);
  return io.stderr.isTerminal ? new LiveDisplay(io) : new PlainDisplay(io);
}

/** Works on a run to its end and prints its outcome. Gives the exit code. */
export async function attend(given: Arguments, work: Work): Promise<number> {
  const background = new Background(given, work);
  const outcome = await workOn({ ...work, answered: (answer) => background.answered(answer) });
  if (outcome.ended === "detached") return reportOutcome(outcome, given, work.io);
  const aftermath = await lookBack(outcome.run, work);
  return reportOutcome(outcome, given, work.io, { ...aftermath, isPrinted: background.isPrinted });
}

/** What a run left in addition to its result. */
export interface Aftermath {
  /** How the whole run ended, steps and children included; null: it is open. */
  readonly end: RunOutcome | null;
  /** Delegations whose changes are kept in their working copies. */
  readonly kept: readonly string[];
  /** Why the agent failed; null: it did not. */
  readonly cause: Cause | null;
  /** What the run changed and cost. */
  readonly summary?: RunSummary;
  /** Why the models that were asked before the last one did not answer. */
  readonly triedFirst?: readonly string[];
  /** Whether the answer was printed before the run ended. */
  readonly isPrinted?: boolean;
}

export async function lookBack(
  { delegationId, runId }: StartedRun,
  { runtime, io }: Pick<Work, "runtime" | "io">,
): Promise<Aftermath> {
  const { store } = runtime;
  const run = await store.readRun(runId);
  // Copies that hold no changes are being removed: only then is it known what is kept.
  await runtime.settleCopies();
  if (run === undefined) return nothingLeft;
  const agent = run.delegations.get(delegationId);
  const cause = (agent?.status === "closed" && agent.failure?.cause) || null;
  const kept = await keptChanges(store, run, io);
  const triedFirst =
    cause?.code === "model_unavailable" ? await otherModels(store, delegationId) : [];
  const { home } = findPlaces(io.environment);
  const { changesOfRun } = await import("../../application/kept-work/changes-of-run.ts");
  const summary = { run, changes: await changesOfRun({ store, home }, run) };
  return { end: run.outcome, kept, cause, triedFirst, summary };
}

/** The faults of the models whose fallbacks were asked. */
async function otherModels(store: Store, delegationId: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { payload, type } of store.readEvents({
    delegationId,
    types: ["agent.retried"],
  })) {
    if (type !== "agent.retried" || payload.what !== "model") continue;
    found.push(printableLine(describeCause(payload.cause)));
  }
  return found;
}

const nothingLeft: Aftermath = { end: null, kept: [], cause: null };

/** Says that answers are scripted, so that they are not taken for those of a language model. */
export function announceModel(
  model: string | null,
  playbook: string | undefined,
  { io, display }: Work,
): void {
  if (playbook === undefined && !model?.startsWith("scripted/")) return;
  const { paint } = styleFor(io.stderr, io);
  const notice = paint.warn("scripted model: not a language model");
  const source =
    playbook === undefined
      ? `no playbook: ${io.program} doctor`
      : `answers from ${basename(playbook)}`;
  display.say(`${notice} (${source})`);
}

/** Prints how a run ended, and gives the exit code. */
export async function reportOutcome(
  outcome: WorkOutcome,
  given: Arguments,
  io: Io,
  { cause, end, isPrinted = false, kept, summary, triedFirst = [] }: Aftermath = nothingLeft,
): Promise<number> {
  const { run } = outcome;
  switch (outcome.ended) {
    case "lost":
      io.stderr.write(
        `mandate: another process works on ${run.runId} now. Watch it: ${io.program} logs ${run.runId} --follow\n`,
      );
      return exitCode.failed;
    case "paused":
      io.stderr.write(
        `mandate: ${run.runId} is paused: its caller is gone, and the contract of a sub-agent says to wait. Resume it: ${io.program} resume ${run.runId}\n`,
      );
      return exitCode.failed;
    case "interrupted":
      io.stderr.write(`mandate: ${describeInterruption(outcome, io)}\n`);
      tellKept(kept, io);
      return outcome.code;
    case "detached":
      return reportDetached(outcome, given, io);
    case "result": {
      const { result } = outcome;
      if (given.flag("json")) {
        const told = { runId: run.runId, ...(end !== null && { outcome: end }), ...result };
        printJson(io, { ...told, keptChanges: kept });
        return exitCodeOfResult(result, end);
      }
      const isKnown = isPrinted && result.status === "completed";
      const code = isKnown ? exitCodeOfResult(result) : await printResult(result, io, cause);
      if (code !== exitCode.done) {
        for (const sentence of triedFirst) io.stderr.write(`Tried first: ${sentence}\n`);
        const next = howToContinue(run, io, result.closeReason, cause);
        io.stderr.write(`${next}. Details: ${io.program} show ${run.delegationId}\n`);
      } else if (end === "failed") {
        io.stderr.write(
          `mandate: the run failed all the same: a sub-agent or step was not completed. See ${io.program} tree ${run.runId}\n`,
        );
      }
      tellKept(kept, io);
      if (summary !== undefined && code === exitCode.done && !given.flag("quiet")) {
        tellOfRun(summary, io);
      }
      return exitCodeOfResult(result, end);
    }
    default:
      return outcome satisfies never;
  }
}

/** The answer is printed already, except as a JSON document. */
function reportDetached(
  { answer: { children, result }, run: { runId } }: Extract<WorkOutcome, { ended: "detached" }>,
  given: Arguments,
  io: Io,
): number {
  if (given.flag("json")) {
    const running = children.map(({ id }) => id);
    printJson(io, { runId, ...result, running });
  }
  const { program } = io;
  io.stderr.write(
    `mandate: ${runId} continues without this terminal. Look at it: ${program} ls; ${program} show ${runId}\n`,
  );
  return exitCodeOfResult(result);
}

const ofDollars: ReadonlySet<Cause["code"]> = new Set([
  "model_unpriced",
  "cost_spent",
  "cost_too_small",
]);

/** A run that reached a limit would reach the same limit again. */
function howToContinue(
  { runId }: StartedRun,
  io: Io,
  closeReason: CloseReason,
  cause: Cause | null,
): string {
  const more = (option: string) => `Give it more: ${io.program} resume ${option} ${runId}`;
  if (closeReason === "budget_exhausted") {
    return more(
      cause !== null && ofDollars.has(cause.code) ? "--max-cost DOLLARS" : "--max-tokens NUMBER",
    );
  }
  if (closeReason === "timeout") return more("--timeout TIME");
  // The sentence before this one says what to do first.
  const first = cause?.code === "model_unavailable" && cause.remedy !== undefined;
  return `${first ? "Then resume" : "Resume"}: ${io.program} resume ${runId}`;
}

type Interrupted = Extract<WorkOutcome, { ended: "interrupted" }>;

/** The state of every interrupted run, and how to resume those that have not ended. */
function describeInterruption({ code, stopped }: Interrupted, io: Io): string {
  const isByPerson = code === exitCode.interrupted;
  const answered = stopped.filter(({ state }) => state === "answered");
  const left = stopped.filter(({ state }) => state !== "ended" && state !== "answered");
  if (left.length === 0 && answered.length > 0) {
    const which = `${names(answered)} had answered; its background sub-agents were stopped as their contracts say`;
    return `${which}. What they did: ${commands("tree", answered, io)}`;
  }
  if (left.length === 0) {
    const by = isByPerson ? "interrupted" : "stopped by the system";
    return `${by}. ${names(stopped)} had ended: ${commands("result", stopped, io)}`;
  }
  const next = `Resume: ${commands("resume", left, io)}`;
  return isByPerson
    ? `${became(left)}. ${next}`
    : `stopped by the system; ${names(left)} ${left.length === 1 ? "is" : "are"} not finished. ${next}`;
}

const fates = { cancelled: "cancelled", paused: "paused", open: "left open" } as const;

/** `r1 was paused; r2, r3 were cancelled` */
function became(runs: readonly StoppedRun[]): string {
  return Object.entries(fates)
    .map(([state, fate]) => ({ fate, of: runs.filter((run) => run.state === state) }))
    .filter(({ of }) => of.length > 0)
    .map(({ fate, of }) => `${names(of)} ${of.length === 1 ? "was" : "were"} ${fate}`)
    .join("; ");
}

function names(runs: readonly StoppedRun[]): string {
  return runs.map(({ runId }) => runId).join(", ");
}

/** Commands in a row, as a shell takes them. */
function commands(command: string, runs: readonly StoppedRun[], { program }: Io): string {
  return runs.map(({ runId }) => `${program} ${command} ${runId}`).join("; ");
}

const ways = ["wait", "detach", "cancel"] as const;
type Way = (typeof ways)[number];

export const backgroundOption: CommandOption = text(
  "WAY",
  "sub-agents that still run after the answer: wait (default), detach or cancel",
);

export function backgroundOf(given: Arguments): Way {
  const said = given.text("background") ?? "wait";
  const way = ways.find((one) => one === said);
  if (way !== undefined) return way;
  throw new MandateError("usage", `--background takes ${ways.join(", ")}; it is "${said}".`);
}

/** Prints an answer as soon as it is there, and handles the sub-agents that still run. */
export class Background {
  /** Whether the answer was written to standard output. */
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
      display.clearFor(await resultPrinter(answer.result, io));
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
