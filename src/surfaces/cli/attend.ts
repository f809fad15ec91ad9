import { basename } from "node:path";
import type { RunOutcome } from "../../events/run-outcome.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Runtime } from "../../runtime.ts";
import type { Arguments } from "./arguments.ts";
import { type CommandOption, jsonOption } from "./command.ts";
import { printResult } from "./commands/result.ts";
import { describeInterruption } from "./describe-interruption.ts";
import type { Display } from "./display.ts";
import { shorten } from "./display-width.ts";
import { exitCode, exitCodeOfResult } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { keptChanges, tellKept } from "./kept-changes.ts";
import { LiveDisplay } from "./live-display.ts";
import { PlainDisplay, QuietDisplay } from "./plain-display.ts";
import { printable, printableJson, printableLine } from "./printable.ts";
import { styleFor } from "./style.ts";
import { type StartedRun, type Work, type WorkOutcome, workOn } from "./work-on.ts";

export const attendOptions: Readonly<Record<string, CommandOption>> = {
  json: { ...jsonOption, help: "print the result as one JSON document" },
  quiet: { type: "flag", short: "q", help: "show nothing but questions and the result" },
};

export function displayFor(given: Arguments, io: Io): Display {
  if (given.flag("quiet")) return new QuietDisplay(io);
  return io.stderr.isTerminal ? new LiveDisplay(io) : new PlainDisplay(io);
}

/** Works on a run to its end and prints what came of it. Gives the exit code. */
export async function attend(given: Arguments, work: Work): Promise<number> {
  const outcome = await workOn(work);
  return reportOutcome(outcome, given, work.io, await lookBack(outcome.run, work));
}

/** What a run left, besides its result. */
export interface Aftermath {
  /** How the run itself ended, which is for its steps and children to say too; null: it has not. */
  readonly end: RunOutcome | null;
  /** Those whose changes are in copies of their own. */
  readonly kept: readonly string[];
}

export async function lookBack(
  { runId }: StartedRun,
  { runtime: { parts, store }, io }: Pick<Work, "runtime" | "io">,
): Promise<Aftermath> {
  const run = await store.readRun(runId);
  // Copies that hold no changes are being removed: only then is it known what is kept.
  if (parts.hasCopies()) await (await parts.copies()).settled();
  if (run === undefined) return nothingLeft;
  return { end: run.outcome, kept: await keptChanges(store, run, io) };
}

const nothingLeft: Aftermath = { end: null, kept: [] };

type Watch = Parameters<Work["begin"]>[0];

/** Goes on with everything of this application that a crash, or a kill, left behind. */
export async function takeUp(
  { runtime, display, io }: Pick<Work, "runtime" | "display" | "io">,
  watch: Watch,
  only?: string,
): Promise<readonly StartedRun[]> {
  const { paint } = styleFor(io.stderr, io);
  const recovered = await recover(runtime, display, only);
  for (const run of recovered) {
    const task = (await runtime.store.readRun(run.runId))?.task ?? "";
    const about = shorten(printableLine(task), 40);
    display.say(
      `${paint.warn(`${run.runId} was interrupted`)} and goes on where it stopped: ${about}`,
    );
    await watch(run);
  }
  return recovered;
}

/** A run that cannot be recovered keeps nothing new from starting, unless it is the one asked for. */
async function recover(
  { engine }: Runtime,
  display: Display,
  only: string | undefined,
): Promise<readonly StartedRun[]> {
  if (only !== undefined) return engine.recover(only);
  const refused = ({ message }: MandateError): void =>
    display.say(`An interrupted run could not be taken up: ${printable(message)}`);
  try {
    return await engine.recover(undefined, refused);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    refused(error);
    return [];
  }
}

/** Nobody shall take scripted words for those of a language model. */
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

/** What came of it, in words and as an exit code. */
export function reportOutcome(
  outcome: WorkOutcome,
  given: Arguments,
  io: Io,
  { end, kept } = nothingLeft,
): number {
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
    case "result": {
      const { result } = outcome;
      if (given.flag("json")) {
        const told = { runId: run.runId, ...(end !== null && { outcome: end }), ...result };
        io.stdout.write(`${printableJson({ ...told, keptChanges: kept }, 2)}\n`);
        return exitCodeOfResult(result, end);
      }
      const code = printResult(result, io);
      if (code !== exitCode.done) {
        const next = howToGoOn(run, io, result);
        io.stderr.write(`Why: ${io.program} show ${run.delegationId}. ${next}\n`);
      } else if (end === "failed") {
        io.stderr.write(
          `mandate: the run failed all the same: something below was not completed. See ${io.program} tree ${run.runId}\n`,
        );
      }
      tellKept(kept, io);
      return exitCodeOfResult(result, end);
    }
    default:
      return outcome satisfies never;
  }
}

/** What reached a limit would reach the same one again. */
function howToGoOn(
  { runId }: StartedRun,
  io: Io,
  { closeReason, result }: DelegationResult,
): string {
  const more = (option: string) => `Give it more: ${io.program} resume ${option} ${runId}`;
  // Which of the two it was is in its sentence alone.
  const isOfDollars = /\bcost\b/.test(result);
  if (closeReason === "budget_exhausted") {
    return more(isOfDollars ? "--max-cost DOLLARS" : "--max-tokens NUMBER");
  }
  if (closeReason === "timeout") return more("--timeout TIME");
  // The session of another program's agent: its sub-agents can be resumed, the agent cannot.
  if (closeReason === "parent_crash") return `What its sub-agents did: ${io.program} tree ${runId}`;
  return `Go on with: ${io.program} resume ${runId}`;
}
