import { existsSync } from "node:fs";
import type { Runtime } from "../../../runtime.ts";
import type { Arguments } from "../arguments.ts";
import { displayFor } from "../attend.ts";
import type { Display } from "../display.ts";
import type { Io } from "../io.ts";
import { demoApplication } from "../playbook-application.ts";
import { recoverRuns } from "../resume-runs.ts";
import { styleFor } from "../style.ts";
import { type StartedRun, type Work, type WorkOutcome, workOn } from "../work-on.ts";
import { createSampleProject } from "./sample-project.ts";

const task = "Prepare release 1.1 of harbour, with release notes.";

/** Where one demonstration happens, and what it has. */
export interface DemoStage {
  readonly given: Arguments;
  readonly io: Io;
  /** A home of its own, below that of the person. */
  readonly ownHome: string;
  /** Where the sample project is made, unless somebody is at work there. */
  readonly wanted: string;
  /** Where it is. */
  readonly place: string;
  readonly runtime: Runtime;
}

/** Begins, or recovers what was interrupted, and shows it in the terminal to its end. */
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

/** The folder of the run that was interrupted, which may have been tidied up; else a new one. */
export async function preparePlace(runtime: Runtime, wanted: string): Promise<string> {
  const folders = (await openRuns(runtime)).flatMap(({ workspace }) => workspace ?? []);
  for (const folder of folders) if (!existsSync(folder)) createSampleProject(folder);
  const [interrupted] = folders;
  if (interrupted !== undefined) return interrupted;
  const folder = await freeFolder(runtime, wanted);
  createSampleProject(folder);
  return folder;
}

/** One that no demonstration at work is using. */
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
