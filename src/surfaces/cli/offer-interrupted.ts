import { describeResumed } from "../../application/commands/describe-run.ts";
import { realPathOf } from "../../control/folders/folder-consents.ts";
import { isOpen } from "../../events/delegation.ts";
import { isPaused, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { RunRow, Store } from "../../ports/store.ts";
import type { Runtime } from "../../runtime.ts";
import { countOf, formatAge } from "./amounts.ts";
import { announceModel, displayFor } from "./attend.ts";
import type { Arguments } from "./command.ts";
import type { Display } from "./display.ts";
import { shorten } from "./display-width.ts";
import type { Io, StopSignal } from "./io.ts";
import { printable, printableLine } from "./printable.ts";
import type { StartedRun, Work } from "./work-on.ts";

interface InterruptedRun {
  readonly id: string;
  readonly task: string;
  readonly workspace: string | null;
  readonly lastEventAt: number;
}

interface Offering {
  readonly runtime: Pick<Runtime, "application" | "store">;
  readonly io: Io;
  readonly display: Pick<Display, "say">;
  /** The run that the new work continues. */
  readonly except?: string | undefined;
}

/** How many runs are read, and how many the question names. */
const mostRuns = 1000;
const mostNamed = 5;

/**
 * Interrupted runs of this application are earlier work, perhaps of other people: a command for new
 * work does not resume them unasked. A terminal asks before the new work begins, and Enter means no;
 * elsewhere the runs are named. Gives the ids to resume, or "left" when the person left at the question.
 */
export async function offerInterrupted(offering: Offering): Promise<readonly string[] | "left"> {
  const { display, except, io, runtime } = offering;
  const all = await interruptedRuns(runtime.store, runtime.application);
  const found = all.filter(({ id }) => id !== except);
  if (found.length === 0) return [];
  if (io.ask === undefined) {
    display.say(describeInBrief(found, io));
    return [];
  }
  const answer = await ask(describe(found, io), io.ask, io);
  if (answer === "left") return "left";
  if (/^y(?:es)?$/i.test(answer.trim())) return found.map(({ id }) => id);
  display.say(`To drop a run: ${io.program} cancel ${idIn(found)}`);
  return [];
}

/** The latest first. Paused runs wait for a person, and distributed ones for a worker. */
async function interruptedRuns(
  store: Store,
  application: string,
): Promise<readonly InterruptedRun[]> {
  const found: InterruptedRun[] = [];
  for (const row of await store.listRuns({ open: true, application, limit: mostRuns })) {
    if (await store.isWorkerAlive(row.worker)) continue;
    if (await isDistributed(store, row)) continue;
    const run = await readRun(store, row);
    if (run === undefined || isPaused(run)) continue;
    const { id, task, workspace } = run;
    found.push({ id, task, workspace, lastEventAt: lastEventIn(run) });
  }
  return found;
}

/** By the first event alone: a distributed run can have hundreds of thousands. */
async function isDistributed(store: Store, { id }: RunRow): Promise<boolean> {
  try {
    for await (const { payload, type } of store.readEvents({ runId: id })) {
      return type === "run.started" && payload.spread !== undefined;
    }
  } catch {
    // A damaged log is reported by whatever needs the run.
  }
  return false;
}

/** Undefined also for a damaged log, which must not stop new work. */
async function readRun(store: Store, { id }: RunRow): Promise<RunState | undefined> {
  const run = await store.readRun(id).catch(() => undefined);
  return run?.outcome === null ? run : undefined;
}

function lastEventIn({ delegations, startedAt }: RunState): number {
  let last = startedAt;
  for (const one of delegations.values()) {
    if (isOpen(one)) last = Math.max(last, one.status === "running" ? one.lastEventAt : 0);
  }
  return last;
}

function describeInBrief(runs: readonly InterruptedRun[], io: Io): string {
  const named = runs.slice(0, mostNamed).map((run) => describeRun(run, io));
  const more = runs.length > mostNamed ? `, and ${runs.length - mostNamed} more` : "";
  const id = idIn(runs);
  return `${count(runs)}: ${named.join("; ")}${more}. Resume: ${io.program} resume ${id}; drop: ${io.program} cancel ${id}`;
}

function idIn([first, ...more]: readonly InterruptedRun[]): string {
  return first !== undefined && more.length === 0 ? first.id : "ID";
}

function describe(runs: readonly InterruptedRun[], io: Io): string {
  const [first] = runs;
  if (runs.length === 1 && first !== undefined) {
    return `${count(runs)}: ${describeRun(first, io)}. Resume it? (y/N) `;
  }
  const named = runs.slice(0, mostNamed).map((run) => `  ${describeRun(run, io)}\n`);
  const more = runs.length > mostNamed ? `  and ${runs.length - mostNamed} more\n` : "";
  return `${count(runs)}:\n${named.join("")}${more}Resume them? (y/N) `;
}

function count(runs: readonly InterruptedRun[]): string {
  return `${countOf(runs.length, "run")} ${runs.length === 1 ? "was" : "were"} interrupted`;
}

/** The runs are of every folder: another one is named. */
function describeRun({ id, lastEventAt, task, workspace }: InterruptedRun, io: Io): string {
  const isHere = workspace === null || workspace === realPathOf(io.cwd);
  const place = isHere ? "" : `, in ${printableLine(workspace)}`;
  return `${id} "${shorten(printableLine(task), 40)}", ${formatAge(io.now() - lastEventAt)}${place}`;
}

async function ask(
  text: string,
  askPerson: NonNullable<Io["ask"]>,
  io: Io,
): Promise<string | "left"> {
  const control = new AbortController();
  let signal: StopSignal | undefined;
  const release = io.onSignal((stop) => {
    signal = stop;
    control.abort();
  });
  const lines = text.split("\n");
  const prompt = lines.pop() ?? "";
  for (const line of lines) io.stderr.write(`${line}\n`);
  try {
    return await askPerson(prompt, control.signal);
  } catch {
    // The end of the input counts as Enter, which means no.
    return signal === undefined ? "" : "left";
  } finally {
    release();
  }
}

interface NewWork {
  readonly given: Arguments;
  readonly io: Io;
  readonly runtime: Runtime;
  readonly model: string | null;
  readonly playbook: string | undefined;
  /** A run that the new work continues. */
  readonly except?: string | undefined;
  /** Starts what the work is about. */
  start(watch: Watch, display: Display): Promise<StartedRun>;
}

type Watch = Parameters<Work["begin"]>[0];

/**
 * The work of a command that starts something: it offers interrupted runs first, and resumes those
 * that the person wants before its own run starts. "left": the person left at the question.
 */
export async function newWork(about: NewWork): Promise<Work | "left"> {
  const { except, given, io, model, playbook, runtime, start } = about;
  const display = displayFor(given, io);
  const beside = await offerInterrupted({ runtime, io, display, except });
  if (beside === "left") return "left";
  const work: Work = {
    runtime,
    io,
    display,
    async begin(watch) {
      announceModel(model, playbook, work);
      await resumeBeside(work, watch, beside);
      return start(watch, display);
    },
  };
  return work;
}

/** Resumes runs beside new work. A run that cannot be resumed does not stop the new work. */
async function resumeBeside(
  { runtime: { engine }, display }: Work,
  watch: Watch,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    try {
      const resumed = await engine.resume(id);
      display.say(printable(describeResumed(resumed, id)));
      for (const run of resumed.runs) await watch(run);
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      display.say(printable(error.message));
    }
  }
}
