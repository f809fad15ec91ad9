import { existsSync } from "node:fs";
import { join } from "node:path";
import { defaultConfig } from "../../../control/config.ts";
import { findPlaces } from "../../../control/places.ts";
import { createRuntime, type Runtime } from "../../../runtime.ts";
import type { Arguments } from "../arguments.ts";
import { displayFor, reportOutcome, takeUp } from "../attend.ts";
import type { Command } from "../command.ts";
import type { Io } from "../io.ts";
import { demoApplication, demoPlaybook } from "../playbook-application.ts";
import { styleFor } from "../style.ts";
import { type StartedRun, type Work, workOn } from "../work-on.ts";
import { createSampleProject } from "./sample-project.ts";
import { tellWhatHappened } from "./tell-what-happened.ts";

export const demoCommand: Command = {
  name: "demo",
  usage: "[options]",
  about:
    "A parent agent and its children prepare the release of a small project: three in parallel, one\n" +
    "that delegates further, one whose model fails and that tries again, one that is asked to do more\n" +
    "than its contract grants. Needs no key and no network: a playbook answers in place of a model.\n" +
    "Kill it in the middle and start it again: it goes on where it was.",
  options: {
    speed: { type: "text", value: "NUMBER", help: "so many times faster" },
    quiet: { type: "flag", short: "q", help: "show nothing while it works" },
  },
  words: { least: 0, most: 0 },
  run: demo,
};

const task = "Prepare release 1.1 of harbour, with release notes.";

async function demo(given: Arguments, io: Io): Promise<number> {
  const { home } = findPlaces(io.environment);
  const ownHome = join(home, "demo");
  const runtime = await openDemoRuntime(given, io, ownHome);
  try {
    const work: Work = {
      runtime,
      io,
      display: displayFor(given, io),
      async begin(watch) {
        await restoreProjects(runtime);
        const folder = await freeFolder(runtime, join(home, "demo-harbour"));
        const [interrupted] = await openRuns(runtime);
        work.display.say(introduction(io, interrupted?.workspace ?? folder, ownHome));
        const [recovered] = await takeUp(work, watch);
        const run = recovered ?? (await start(runtime, folder));
        if (recovered === undefined) await watch(run);
        return run;
      },
    };
    const outcome = await workOn(work);
    if (outcome.ended !== "result")
      return reportOutcome(outcome, given, { ...io, program: inHome(io, ownHome) });
    return await tellWhatHappened(runtime.store, outcome, io, ownHome);
  } finally {
    await runtime.close();
  }
}

/** The demonstration shall look the same everywhere, so nobody's configuration takes part in it. */
function openDemoRuntime(given: Arguments, io: Io, ownHome: string): Promise<Runtime> {
  const speed = given.count("speed") ?? 1;
  return createRuntime({
    environment: { ...io.environment, MANDATE_HOME: ownHome },
    cwd: ownHome,
    config: { ...defaultConfig, profiles: [], files: [] },
    application: demoApplication,
    playbook: { file: demoPlaybook, speed },
    // Each kill costs the worst case of the requests that were under way: it shall be a small one.
    limits: {
      maxTokens: 1_000_000,
      runTokens: 2_000_000,
      maxOutputTokens: 1024,
      requestTries: 2,
      backoffMs: 500 / speed,
    },
  });
}

async function start({ engine }: Runtime, workspace: string): Promise<StartedRun> {
  createSampleProject(workspace);
  return engine.startRun({ task, profile: "general", workspace, maxTokens: 1_000_000 });
}

async function openRuns({ store }: Runtime) {
  const open = await store.listRuns({ open: true, application: demoApplication });
  const gone: (typeof open)[number][] = [];
  for (const run of open) if (!(await store.isWorkerAlive(run.worker))) gone.push(run);
  return gone;
}

/** An interrupted run needs its folder; somebody may have tidied up. */
async function restoreProjects(runtime: Runtime): Promise<void> {
  for (const { workspace } of await openRuns(runtime)) {
    if (workspace !== null && !existsSync(workspace)) createSampleProject(workspace);
  }
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

function inHome(io: Io, ownHome: string): string {
  return `MANDATE_HOME=${ownHome} ${io.program}`;
}
