import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { StartedRun } from "../../ports/delegator.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import {
  delegationMark,
  endMarkedProcesses,
  markedProcesses,
  signalProcess,
} from "../../workspaces/delegation-mark.ts";

const profiles = [testProfile("lead", { tools: ["list_files"] })];
const slow: Script = () => ({ fault: "stall" });
const quick: Script = () => "done";
const isDistributed = process.env["MANDATE_TEST_ENGINE"] === "distributed";

/** Several runs of a process that died while all of them were at work. */
async function openAfterDeath(count: number) {
  const first = await openEngine({ model: slow, profiles });
  const runs: StartedRun[] = [];
  for (let number = 0; number < count; number++) {
    runs.push(await first.start({ task: `task ${number}`, profile: "lead" }));
  }
  await until("all are at work", async () =>
    (await statusesOf(first, runs)).every((status) => status === "running"),
  );
  first.abandon();
  return { first, runs };
}

type Opened = Awaited<ReturnType<typeof openEngine>>;
type Started = readonly { readonly runId: string; readonly delegationId: string }[];

async function statusesOf({ store }: Opened, runs: Started): Promise<readonly unknown[]> {
  const states = await Promise.all(runs.map(({ runId }) => store.readRun(runId)));
  return runs.map(({ delegationId }, at) => states[at]?.delegations.get(delegationId)?.status);
}

test.skipIf(isDistributed)(
  "what dead agents left running is looked for once for all runs, when all are claimed and before any goes on",
  async () => {
    const { first, runs } = await openAfterDeath(5);
    await using _first = first;
    await using second = await first.another({ model: quick, profiles });
    const seen: string[] = [];
    second.store.subscribe((events) => {
      for (const { type } of events) if (/resumed$/.test(type)) seen.push(type);
    });
    const { endStrays } = second.parts;
    const spy = vi.spyOn(second.parts, "endStrays").mockImplementation(async (delegations) => {
      seen.push(`looked for ${runs.filter(({ delegationId: id }) => delegations.has(id)).length}`);
      await endStrays(delegations);
    });
    const recovered = await second.engine.recover();
    expect(spy).toHaveBeenCalledTimes(1);
    const ends = await Promise.all(recovered.map(({ result }) => result));
    expect(ends.map(({ status }) => status)).toEqual(Array(5).fill("completed"));
    expect(seen).toEqual([
      ...Array(5).fill("run.resumed"),
      "looked for 5",
      ...Array(5).fill("agent.resumed"),
    ]);
    expect(await second.engine.recover()).toEqual([]);
    expect(spy).toHaveBeenCalledTimes(1);
  },
);

test.skipIf(isDistributed)(
  "one run that cannot be taken up keeps none of the others from it",
  async () => {
    const { first, runs } = await openAfterDeath(3);
    await using _first = first;
    await using second = await first.another({ model: quick, profiles });
    const [, broken] = runs;
    const { readContract } = second.store;
    const unexpected = new TypeError("nobody thought of this");
    let reads = 0;
    vi.spyOn(second.store, "readContract").mockImplementation((id) => {
      // Not when it is decided whether to take it up: when it is.
      if (id === broken?.delegationId && ++reads > 1) return Promise.reject(unexpected);
      return readContract.call(second.store, id);
    });
    await expect(second.engine.recover()).rejects.toBe(unexpected);
    await until("the others end", () => second.engine.liveRuns.length === 0);
    vi.restoreAllMocks();
    const ends = await Promise.all(runs.map(({ runId }) => second.engine.resultOf(runId)));
    expect(ends.map((end) => end?.status)).toEqual(["completed", undefined, "completed"]);
    second.abandon();
    await using third = await first.another({ model: quick, profiles });
    const recovered = await third.engine.recover();
    expect(recovered.map(({ runId }) => runId)).toEqual([broken?.runId]);
    for (const { result } of recovered) expect((await result).status).toBe("completed");
  },
);

test.runIf(process.platform === "linux")(
  "the processes of every run are gone when recovery is, and those of others are not",
  async () => {
    const { first, runs } = await openAfterDeath(3);
    await using _first = first;
    const mark = delegationMark(first.database);
    const start = async (owner: string): Promise<void> => {
      const command = "echo; sleep 300 & read line";
      const child = spawn("/bin/sh", ["-c", command], { env: mark(owner), detached: true });
      onTestFinished(() => signalProcess(-(child.pid ?? 0), "SIGKILL"));
      await once(child.stdout, "data");
    };
    for (const { delegationId } of runs) await start(delegationId);
    await start("another");
    await using second = await first.another({ model: quick, profiles });
    const recovered = await second.engine.recover();
    await Promise.all(recovered.map(({ result }) => result));
    expect([...markedProcesses(first.database).keys()]).toEqual(["another"]);
    // The checker knows nobody of that name.
    await endMarkedProcesses(first.database, new Set(["another"]));
  },
);
