import { describeAnswered } from "../../../application/commands/describe-run.ts";
import { runsWithCopies } from "../../../application/kept-copies.ts";
import { findPlaces } from "../../../control/places.ts";
import { type AskWorkers, askWorkersOnce } from "../../../events/is-worked-on.ts";
import { atMost, atMostCost, type Spent } from "../../../events/spent.ts";
import type { RunRow, Store } from "../../../ports/store.ts";
import { earlyAnswerIn } from "../../../sessions/delegation-result.ts";
import { type ListedRun, listedRun } from "../../../sessions/listed-run.ts";
import { formatAge, formatCost, formatTokens } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { drawTable } from "../draw-table.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { isLeftToWorkers, keptChanges } from "../run-hints.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

interface Line extends RunRow, Spent {
  readonly state: ListedRun["state"];
  /** Background sub-agents that still run after the root's answer; absent: no answer yet. */
  readonly runningAfterAnswer?: readonly string[];
}

export const lsCommand: Command = {
  name: "ls",
  usage: "[options]",
  about: "Lists runs, the latest first. An open run without a process is called interrupted.",
  options: {
    json: jsonOption,
    limit: text("NUMBER", "how many at most (20)"),
    open: flag("only runs that have not ended"),
  },
  run: (given, io) => withStore(io, (store) => list(store, given, io)),
};

async function list(store: Store, given: Arguments, io: Io): Promise<number> {
  const rows = await store.listRuns({
    limit: given.count("limit") ?? 20,
    open: given.flag("open"),
  });
  const workers = askWorkersOnce(store);
  const looks: Look[] = [];
  for (const row of rows) looks.push(await lookAt(store, row, workers));
  const runs = looks.map(({ line }) => line);
  if (given.flag("json")) {
    printJson(io, runs);
    return exitCode.done;
  }
  if (runs.length === 0) {
    io.stderr.write(
      given.flag("open")
        ? "No run is open.\n"
        : `There are no runs yet. Start one: ${io.program} run "…", or ${io.program} demo\n`,
    );
    return exitCode.done;
  }
  for (const line of table(runs, io)) io.stdout.write(`${line}\n`);
  const interrupted = looks.filter(({ line }) => line.state === "interrupted");
  const own = interrupted.find(({ isLeftToWorkers: isTheirs }) => !isTheirs);
  if (own) {
    io.stderr.write(`\nInterrupted runs continue with: ${io.program} resume ${own.line.id}\n`);
  }
  if (interrupted.some(({ isLeftToWorkers: isTheirs }) => isTheirs)) {
    io.stderr.write(
      `\nInterrupted runs that are distributed continue with: ${io.program} worker\n`,
    );
  }
  const { home } = findPlaces(io.environment);
  const withCopies = await runsWithCopies({ store, home });
  for (const { id, outcome } of runs) {
    if (outcome === null || !withCopies.has(id)) continue;
    const run = await store.readRun(id);
    if (run === undefined || (await keptChanges(store, run, io)).length === 0) continue;
    io.stderr.write(`\nChanges that were not merged are kept: ${io.program} diff ${id}\n`);
    break;
  }
  return exitCode.done;
}

interface Look {
  readonly line: Line;
  readonly isLeftToWorkers: boolean;
}

async function lookAt(store: Store, listed: RunRow, workers: AskWorkers): Promise<Look> {
  const { row, run, spent, state } = await listedRun(store, listed, workers);
  const answer = run === undefined ? null : earlyAnswerIn(run);
  const line = { ...row, ...spent, state, ...(answer && { runningAfterAnswer: answer.running }) };
  return { line, isLeftToWorkers: run !== undefined && isLeftToWorkers(run) };
}

function stateInWords({ runningAfterAnswer: running, state }: Line): string {
  return state === "running" && running ? describeAnswered(running.length) : state;
}

const columns = [
  { title: "RUN" },
  { title: "STATE" },
  { title: "AGENTS", isNumber: true },
  { title: "TOKENS", isNumber: true },
  { title: "COST", isNumber: true },
  { title: "STARTED" },
  { title: "TASK" },
] as const;

function table(runs: readonly Line[], io: Io): string[] {
  const { paint } = styleFor(io.stdout, io);
  const rows = runs.map((run) => [
    run.id,
    stateInWords(run),
    String(run.delegations),
    atMost(formatTokens(run.tokens), run),
    atMostCost(formatCost(run.cost), run),
    formatAge(io.now() - run.startedAt),
    printableLine(run.task),
  ]);
  const tones = {
    running: paint.accent,
    interrupted: paint.warn,
    succeeded: paint.good,
    failed: paint.bad,
    cancelled: paint.warn,
  };
  return drawTable(columns, rows, io, { toneOf: (row) => tones[runs[row]?.state ?? "running"] });
}
