/** A process that works on one run until it is done, or killed: node worker.ts '<job>'. */
import { writeSync } from "node:fs";
import { MandateError } from "../../src/ports/mandate-error.ts";
import type { Runtime } from "../../src/runtime.ts";
import { believeElsewhere } from "./believe-elsewhere.ts";
import { breakFiles } from "./break-files.ts";
import { countCommits } from "./die-at-commit.ts";
import { conditionsVariable, type Job, parseConditions } from "./job.ts";
import { gaveUpCode, type Message } from "./messages.ts";
import { openDelegations } from "./open-delegations.ts";
import { openRuntime } from "./open-runtime.ts";
import { shiftClock } from "./shift-clock.ts";

/** The pipe to the driver; written at once, so that what was told survives us. */
const driver = 3;

function tell(message: Message): void {
  writeSync(driver, `${JSON.stringify(message)}\n`);
}

type Counts = () => { readonly commits: number; readonly fileWrites: number };

async function work(job: Job, counts: Counts): Promise<void> {
  const runtime = await openRuntime(job);
  const { engine, store } = runtime;
  const open = await openDelegations(store);
  tell({ type: "opened", open });
  // One that was only created waits in the queue again; nothing is written about that.
  const missing = new Set(open.flatMap(({ id, status }) => (status === "created" ? [] : [id])));
  let isRecovered = false;
  const lookWhetherTakenUp = (): void => {
    if (!isRecovered || missing.size > 0) return;
    isRecovered = false;
    tell({ type: "taken-up" });
  };
  store.subscribe((events) => {
    tell({
      type: "committed",
      events: events.map(({ run_id, seq, hash, type, sub_agent_id: id = null }) => ({
        run_id,
        seq,
        hash,
        type,
        id,
      })),
    });
    for (const { type, sub_agent_id: id = "" } of events) {
      if (type === "agent.resumed" || type === "agent.subagent_closed") missing.delete(id);
    }
    lookWhetherTakenUp();
  });
  const [recovered] = await engine.recover();
  isRecovered = open.length > 0;
  lookWhetherTakenUp();
  if (recovered) await recoverAgain(job);
  const run = recovered ?? (await startUnlessDone(runtime, job));
  await run?.result;
  tell({ type: "finished", ...counts() });
  await runtime.close();
}

/** Recovery is for what nobody works on: whoever comes second finds nothing to do. */
async function recoverAgain(job: Job): Promise<void> {
  const second = await openRuntime(job);
  tell({ type: "recovered-again", runs: (await second.engine.recover()).length });
  await second.close();
}

/** Killed before its first event it never was; killed after its last one it is done. */
async function startUnlessDone({ engine, store }: Runtime, { workspace }: Job) {
  if ((await store.listRuns({})).length > 0) return undefined;
  return engine.startRun({ task: "Be tortured", profile: "lead", workspace, maxTokens: 1e9 });
}

/** Whether this is the product saying in a sentence that it cannot go on, and not a fault of it. */
function isSaid(error: unknown): error is MandateError {
  return (
    error instanceof MandateError && ["storage-full", "database-unusable"].includes(error.code)
  );
}

const conditions = parseConditions(process.env[conditionsVariable]);
if (conditions.clock) shiftClock(conditions.clock);
if (conditions.isElsewhere) believeElsewhere();
const commits = countCommits(conditions.death);
const fileWrites = await breakFiles(conditions.files);
try {
  const counts = (): ReturnType<Counts> => ({ commits: commits(), fileWrites: fileWrites() });
  await work(JSON.parse(process.argv[2] ?? "") as Job, counts);
} catch (error) {
  if (!isSaid(error)) throw error;
  console.error(error.message);
  process.exit(gaveUpCode);
}
