import { existsSync } from "node:fs";
import { checkStore } from "../../../events/checker/check-store.ts";
import type { Store } from "../../../ports/store.ts";
import type { Runtime } from "../../../runtime.ts";
import { countOf, formatSpan } from "../amounts.ts";
import { displayFor } from "../attend.ts";
import type { Arguments } from "../command.ts";
import type { Display } from "../display.ts";
import { shorten, wrap } from "../display-width.ts";
import { drawTree } from "../draw-tree.ts";
import { exitCode, exitCodeOfResult } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { demoApplication } from "../open-runtime.ts";
import { indented, printable, printableLine } from "../printable.ts";
import { RunView } from "../run-view.ts";
import { lineWidth, type Style, styleFor } from "../style.ts";
import { type StartedRun, type Work, type WorkOutcome, workOn } from "../work-on.ts";
import { createSampleProject } from "./sample-project.ts";

const task = "Prepare release 1.1 of harbour, with release notes.";

/** One demonstration: its folders and its runtime. */
export interface DemoStage {
  readonly given: Arguments;
  readonly io: Io;
  /** The demonstration's home, below the user's. */
  readonly ownHome: string;
  /** Where the sample project is created, unless a run uses that folder. */
  readonly wanted: string;
  /** Where the sample project is. */
  readonly place: string;
  readonly runtime: Runtime;
}

/** Starts a run, or recovers the interrupted one, and shows it in the terminal to its end. */
export async function performDemo(
  { given, io, ownHome, place, runtime, wanted }: DemoStage,
  onBegin?: (run: StartedRun, display: Display) => void,
): Promise<WorkOutcome> {
  const display = displayFor(given, io);
  const work: Work = {
    runtime,
    io,
    display,
    async begin(watch) {
      display.say(introduction(io, place, ownHome));
      const [recovered] = await recoverRuns(work, watch);
      const run = recovered ?? (await start(runtime, wanted));
      if (recovered === undefined) await watch(run);
      onBegin?.(run, display);
      return run;
    },
  };
  return workOn(work);
}

/** Recovers every run of this application that lost its process. */
async function recoverRuns(
  { runtime: { engine, store }, display, io }: Work,
  watch: Parameters<Work["begin"]>[0],
): Promise<readonly StartedRun[]> {
  const { paint } = styleFor(io.stderr, io);
  const recovered = await engine.recover(undefined, ({ message }) =>
    display.say(`An interrupted run could not be recovered: ${printable(message)}`),
  );
  for (const run of recovered) {
    const task = (await store.readRun(run.runId))?.task ?? "";
    const about = shorten(printableLine(task), 40);
    display.say(
      `${paint.warn(`${run.runId} was interrupted`)} and continues where it stopped: ${about}`,
    );
    await watch(run);
  }
  return recovered;
}

async function start(runtime: Runtime, wanted: string): Promise<StartedRun> {
  const workspace = await freeFolder(runtime, wanted);
  createSampleProject(workspace);
  return runtime.engine.startRun({ task, profile: "general", workspace, maxTokens: 1_000_000 });
}

async function openRuns({ store }: Runtime) {
  const open = await store.listRuns({ open: true, application: demoApplication });
  const gone: (typeof open)[number][] = [];
  for (const run of open) if (!(await store.isWorkerAlive(run.worker))) gone.push(run);
  return gone;
}

/** The folder of the interrupted run, created again if it was deleted; otherwise a new folder. */
export async function preparePlace(runtime: Runtime, wanted: string): Promise<string> {
  const folders = (await openRuns(runtime)).flatMap(({ workspace }) => workspace ?? []);
  for (const folder of folders) if (!existsSync(folder)) createSampleProject(folder);
  const [interrupted] = folders;
  if (interrupted !== undefined) return interrupted;
  const folder = await freeFolder(runtime, wanted);
  createSampleProject(folder);
  return folder;
}

/** A folder that no open demonstration uses. */
async function freeFolder({ store }: Runtime, wanted: string): Promise<string> {
  const open = await store.listRuns({ open: true, application: demoApplication });
  const taken = new Set(open.map(({ workspace }) => workspace));
  let folder = wanted;
  for (let number = 2; taken.has(folder); number += 1) folder = `${wanted}-${number}`;
  return folder;
}

function introduction(io: Io, folder: string, ownHome: string): string {
  const { paint } = styleFor(io.stderr, io);
  return [
    paint.strong("Mandate: a parent agent, its children, and the contracts between them"),
    "",
    `${paint.warn("scripted model: not a language model.")} Everything else is real: the tools, the`,
    "folder, the contracts, the log.",
    "",
    `  project  ${folder}`,
    `  home     ${ownHome}`,
    `  process  ${io.pid}  ${paint.dim(`(kill -9 ${io.pid} in another terminal, then start this again)`)}`,
    "",
  ].join("\n");
}

export function inHome(io: Io, ownHome: string): string {
  return `MANDATE_HOME=${ownHome} ${io.program}`;
}

type Ended = Extract<WorkOutcome, { ended: "result" }>;

/** After the demonstration: the tree, the result, and whether the log is valid. Gives the exit code. */
export async function tellWhatHappened(
  store: Store,
  { run, result }: Ended,
  io: Io,
): Promise<number> {
  const style = styleFor(io.stdout, io);
  const { paint, glyphs } = style;
  const columns = lineWidth(io.stdout);
  const view = await RunView.read(store, run.runId);
  await view.readBudgets();
  const report = await checkStore(store);
  const lines = [
    // On a terminal, the live tree is still on the screen.
    ...(io.stderr.isTerminal ? [] : ["", ...drawTree(view, style, { now: io.now(), columns })]),
    "",
    ...wrap(sentence(view, result.duration), columns - 1).map(paint.dim),
    "",
    paint.strong(result.status === "completed" ? "Result" : "Failure"),
    indented(result.result),
    "",
    report.ok
      ? `${paint.good(glyphs.done)} verified: ${countOf(report.events, "event")} and ${countOf(report.delegations, "delegation")} in this log keep every promise`
      : `${paint.bad(glyphs.failed)} verify found ${countOf(report.violations.length, "violation")}`,
    "",
    "",
  ];
  io.stdout.write(lines.join("\n"));
  return report.ok ? exitCodeOfResult(result) : exitCode.failed;
}

/** Commands to look closer and to go further, for a person without the dashboard. */
export async function tellWhereToLook(
  store: Store,
  { run }: Ended,
  io: Io,
  ownHome: string,
): Promise<void> {
  const style = styleFor(io.stdout, io);
  const { paint, glyphs } = style;
  const view = await RunView.read(store, run.runId);
  const lines = [
    ...whereToLook(view, io, ownHome, style),
    "",
    paint.strong("With a real model"),
    `  ANTHROPIC_API_KEY=${glyphs.ellipsis} ${io.program} run "What does this project do?"`,
    `  ${io.program} doctor`,
    "",
  ];
  io.stdout.write(lines.join("\n"));
}

function sentence(view: RunView, duration: number): string {
  const agents = [...view.state.delegations.values()];
  const notes = agents.map(({ id }) => view.notesOf(id));
  const sum = (pick: (note: (typeof notes)[number]) => number) =>
    notes.reduce((total, note) => total + pick(note), 0);
  const retries = agents.filter(({ attempt }) => attempt > 1).length;
  // A single kill interrupts several agents.
  const resumed = Math.max(...notes.map(({ resumptions }) => resumptions));
  const parts = [
    countOf(agents.length, "agent"),
    countOf(retries, "retry", "retries"),
    `${countOf(
      sum(({ refusals }) => refusals),
      "call",
    )} refused`,
    ...(resumed > 0 ? [`recovered ${countOf(resumed, "time")} after a kill`] : []),
  ];
  return `${parts.join(", ")}, in ${formatSpan(duration)}.`;
}

function whereToLook(view: RunView, io: Io, ownHome: string, { paint }: Style): string[] {
  const agents = [...view.state.delegations.values()];
  const refused = agents.find(({ id }) => view.notesOf(id).refusals > 0);
  const retried = agents.find(({ attempt }) => attempt > 1);
  const { id } = view.state;
  const rows: (readonly [string, string])[] = [
    ...(refused ? [[`show ${refused.id}`, "the refused one's contract and receipt"] as const] : []),
    ...(retried
      ? [[`result ${retried.id} --json`, "a sealed result, with evidence"] as const]
      : []),
    [`logs ${id}`, "every event, one line each"],
    [`tree ${id}`, "the tree again"],
    ["verify", "check the whole log"],
  ];
  const width = Math.max(...rows.map(([command]) => command.length));
  const needed = 2 + io.program.length + 1 + width + 3 + 38;
  const isNarrow = io.stdout.isTerminal && io.stdout.columns <= needed;
  return [
    paint.strong("Look closer"),
    `  export MANDATE_HOME=${ownHome}`,
    ...rows.map(([command, about]) => {
      const note = paint.dim(about);
      // Both forms can be pasted as they are.
      if (isNarrow) return `  ${paint.dim("# ")}${note}\n  ${io.program} ${command}`;
      return `  ${io.program} ${command.padEnd(width)}   ${paint.dim("# ")}${note}`;
    }),
  ];
}
