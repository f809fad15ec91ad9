import { type Cause, labelOfEnd } from "../../../events/cause.ts";
import { closeReasonWords, describeStatus, type RunOutcome } from "../../../events/close-reason.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { resultOf } from "../../../sessions/delegation-result.ts";
import { type Command, flag, jsonOption } from "../command.ts";
import { exitCode, exitCodeOfResult } from "../exit-code.ts";
import { findTarget, type Target } from "../find-target.ts";
import type { Io } from "../io.ts";
import { printable, printableLine, printJson } from "../printable.ts";
import { opensLinks, styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const resultCommand: Command = {
  name: "result",
  usage: "[options] [ID]",
  about:
    "Prints the result of a run or a delegation, and nothing else, on standard output, without\n" +
    "escape sequences and hidden characters. Exits 1 when it failed or has not ended yet. Without an\n" +
    "id, the latest run.",
  options: {
    json: jsonOption,
    raw: flag("every byte as it is, escape sequences and hidden characters too"),
  },
  words: { least: 0, most: 1 },
  run: (given, io) =>
    withStore(io, async (store) => {
      const target = await findTarget(store, given.words[0], io);
      const result = await readResult(store, target);
      const end = target.delegationId === null ? await readEnd(store, target) : null;
      if (given.flag("json")) {
        const told = { runId: target.runId, ...(end !== null && { outcome: end }) };
        printJson(io, result && { ...told, ...result });
        return result === null ? exitCode.failed : exitCodeOfResult(result, end);
      }
      if (result === null) throw notYet(target, io);
      if (given.flag("raw") && result.status === "completed") io.stdout.writeExact(result.result);
      else await printResult(result, io);
      return exitCodeOfResult(result, end);
    }),
};

/** A run's result is that of its root; null while it is open. */
export async function readResult(store: Store, target: Target): Promise<DelegationResult | null> {
  const run = await store.readRun(target.runId);
  if (run === undefined) return null;
  const root = [...run.delegations.values()].find(({ parentId }) => parentId === null);
  return resultOf(run, target.delegationId ?? root?.id ?? "");
}

/** How a run ended; null while it is open. */
async function readEnd(store: Store, { runId }: Target): Promise<RunOutcome | null> {
  return (await store.readRun(runId))?.outcome ?? null;
}

/** The result alone on standard output; the failure on standard error. Gives the exit code. */
export async function printResult(
  result: DelegationResult,
  io: Io,
  cause: Cause | null = null,
): Promise<number> {
  (await resultPrinter(result, io, cause))();
  return exitCodeOfResult(result);
}

/** What prints a result at once, between two frames of a drawing. */
export async function resultPrinter(
  result: DelegationResult,
  io: Io,
  cause: Cause | null = null,
): Promise<() => void> {
  const { closeReason, status } = result;
  if (result.status === "completed") {
    const text = await shownAnswer(result.result, io);
    return () => {
      io.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
      if (result.truncated)
        io.stderr.write(`mandate: the answer was cut short (${closeReasonWords[closeReason]}).\n`);
    };
  }
  const [reason = "", ...rest] = result.result.split("\n");
  const more = printable(rest.join("\n").trim());
  const failure = cause && { cause };
  return () => {
    const end = describeStatus(status, closeReason, labelOfEnd({ closeReason, failure }));
    io.stderr.write(`mandate: ${end}: ${printableLine(reason)}\n`);
    if (more !== "") io.stderr.write(`${more}\n`);
  };
}

/** Markdown drawn for a terminal. A pipe gets the text, and so does an installation without a parser. */
async function shownAnswer(text: string, io: Io): Promise<string> {
  if (!io.stdout.isTerminal || io.environment["TERM"] === "dumb") return printable(text);
  try {
    const { renderMarkdown } = await import("../markdown/render-markdown.ts");
    const { columns } = io.stdout;
    const look = { columns, style: styleFor(io.stdout, io), hasLinks: opensLinks(io.stdout, io) };
    return renderMarkdown(text, look).join("\n");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") {
      return printable(text);
    }
    throw error;
  }
}

function notYet({ runId, delegationId }: Target, io: Io): MandateError {
  const id = delegationId ?? runId;
  return new MandateError(
    "conflict",
    `${id} has not ended yet. Watch it: ${io.program} logs ${runId} --follow`,
  );
}
