import { resolve } from "node:path";
import { readTextFile } from "../../../agents/documents/read-text-file.ts";
import {
  readCheckpoint,
  takeCheckpoint,
  writeCheckpoint,
} from "../../../application/checkpoint-file.ts";
import { verifyHome } from "../../../application/verify-home.ts";
import { findPlaces } from "../../../control/places.ts";
import type { CheckReport, PrunedSum, Violation } from "../../../events/checker/check-report.ts";
import { controlRunId } from "../../../ports/identity.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { countOf } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

/** A line for each run: more than any installation has had. */
const largestCheckpoint = 512 * 1024 * 1024;
const largestKey = 64 * 1024;

export const verifyCommand: Command = {
  name: "verify",
  usage: "[options]",
  about:
    "Reads the whole log and checks its invariants: the hash chain, each delegation's lifecycle, that\n" +
    "no child had more than its caller could hand on, budgets, merges, the order of closing, and that\n" +
    "rows, records, memories, prompts and artifacts are those that the log names. Then checks the home:\n" +
    "working copies, unfinished merges, processes that outlived their delegation. Changes nothing, and\n" +
    "can run during work. Exits 1 when an invariant is violated.\n\n" +
    "A file beside the database (mandate.db-head) has the ends of runs, so that a log whose end was\n" +
    "removed is found out. `--head` prints a checkpoint to keep where the database cannot be changed;\n" +
    "`--against` compares with one, and names each run that is missing or changed since.",
  options: {
    json: jsonOption,
    run: text("ID", "only this run"),
    head: flag("print a checkpoint of the log, if it is valid"),
    against: text("FILE", "compare the log with this checkpoint"),
    key: text("FILE", "Ed25519 key in PEM: signs with --head, must have signed with --against"),
  },
  examples: [
    "verify --head --key private.pem > checkpoint.json",
    "verify --against checkpoint.json --key public.pem",
  ],
  run(given, io) {
    requireOnePurpose(given);
    return withStore(io, (store) =>
      given.flag("head") ? printHead(store, given, io) : check(store, given, io),
    );
  },
};

function requireOnePurpose(given: Arguments): void {
  const wants = ["head", "against", "run"].filter((name) =>
    name === "head" ? given.flag(name) : given.text(name) !== undefined,
  );
  if (wants.length > 1) {
    const names = wants.map((name) => `--${name}`).join(" and ");
    throw new MandateError(
      "usage",
      `${names} cannot be used together: a checkpoint is of all runs.`,
    );
  }
  if (given.text("key") !== undefined && (wants.length === 0 || wants[0] === "run")) {
    throw new MandateError("usage", "--key signs or checks a checkpoint: add --head or --against.");
  }
}

async function printHead(store: Store, given: Arguments, io: Io): Promise<number> {
  const key = readGiven(given.text("key"), io, largestKey);
  const { checkpoint, report } = await takeCheckpoint(store, io.now());
  if (checkpoint === undefined) {
    tellViolations(report, io, io.stderr);
    io.stderr.write("A log that violates an invariant gets no checkpoint.\n");
    return exitCode.failed;
  }
  io.stdout.write(writeCheckpoint(checkpoint, key));
  return exitCode.done;
}

async function check(store: Store, given: Arguments, io: Io): Promise<number> {
  const asked = given.text("run");
  const only = asked === undefined ? {} : { runId: (await findTarget(store, asked, io)).runId };
  const file = readGiven(given.text("against"), io, largestCheckpoint);
  const key = readGiven(given.text("key"), io, largestKey);
  const read = file === undefined ? undefined : readCheckpoint(file, key);
  const places = findPlaces(io.environment);
  const against = read && { against: read.checkpoint };
  const found = await verifyHome(store, { places, ...only, ...against });
  const report = read?.problem === undefined ? found : withProblem(found, read.problem);
  const code = report.ok ? exitCode.done : exitCode.failed;
  if (given.flag("json")) {
    const { ok, events, delegations, heads, pruned, violations } = report;
    const more = { ...(heads !== undefined && { heads }), ...(pruned && { pruned }) };
    printJson(io, { ok, events, delegations, ...more, violations });
    return code;
  }
  tellViolations(report, io, io.stdout);
  if (report.ok) {
    const { paint, glyphs } = styleFor(io.stdout, io);
    io.stdout.write(`${paint.good(glyphs.done)} ${aboutOf(report)}: everything holds\n`);
  }
  if (report.pruned !== undefined) io.stdout.write(`${describePruned(report.pruned)}\n`);
  if (read !== undefined) {
    const unchecked = read.isSigned && key === undefined ? "; its signature was not checked" : "";
    const at = new Date(read.checkpoint.at).toISOString();
    io.stdout.write(`compared with the checkpoint of ${at}${unchecked}\n`);
  }
  return code;
}

function readGiven(file: string | undefined, io: Io, maximumBytes: number): string | undefined {
  if (file === undefined) return undefined;
  return readTextFile(resolve(io.cwd, file), { code: "usage", maximumBytes });
}

/** I8: an unsigned checkpoint proves nothing. */
function withProblem(report: CheckReport, message: string): CheckReport {
  const violations = [{ invariant: "I8", message } as const, ...report.violations];
  return { ...report, ok: false, violations };
}

function tellViolations(report: CheckReport, io: Io, to: Io["stdout"]): void {
  const { paint, glyphs } = styleFor(to, io);
  for (const violation of report.violations) {
    to.write(`${paint.bad(glyphs.failed)} ${printableLine(describe(violation))}\n`);
  }
  if (report.ok) return;
  to.write(`${paint.bad(countOf(report.violations.length, "violation"))} in ${aboutOf(report)}\n`);
}

function aboutOf({ delegations, events }: CheckReport): string {
  return `${countOf(events, "event")}, ${countOf(delegations, "delegation")}`;
}

function describePruned({ events, firstAt, lastAt, runs }: PrunedSum): string {
  const [first, last] = [firstAt, lastAt].map((at) => new Date(at).toISOString().slice(0, 10));
  const when = first === last ? `on ${first}` : `from ${first} to ${last}`;
  return `${countOf(runs, "run")} with ${countOf(events, "event")} pruned ${when}; their receipts explain every gap`;
}

/** A violation as text: invariant, place, problem. `seq` counts over all runs, as in `logs --json`. */
function describe({ delegationId, invariant, message, runId, seq }: Violation): string {
  const where = [
    runId === controlRunId ? "control log" : runId,
    delegationId,
    seq === undefined ? undefined : `seq ${seq}`,
  ].filter((part) => part !== undefined);
  return `${invariant}  ${where.length === 0 ? "" : `${where.join(" ")}: `}${message}`;
}
