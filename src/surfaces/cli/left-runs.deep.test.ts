import { afterEach, beforeEach, expect, it } from "vitest";
import { openProcessFleet, type ProcessFleet } from "../../testing/process-fleet.test-support.ts";
import { Desk, until } from "./desk.test-support.ts";

const patience = { timeout: 60_000 };

let desk: Desk;
let fleet: ProcessFleet;

beforeEach(async () => {
  desk = new Desk();
  fleet = await openProcessFleet({ workers: 1, atOnce: 1 });
}, 60_000);

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
  desk.clear();
});

const start = (words: readonly string[], engine = "dbos") =>
  desk.start(words, {
    environment: { MANDATE_DATABASE_URL: fleet.url, MANDATE_ENGINE: engine },
  });
const type = (words: readonly string[], engine?: string) => start(words, engine).done;

/** What each command that shows runs calls this one. */
async function statesOf(runId: string): Promise<Readonly<Record<string, string>>> {
  const read = async (...words: string[]) => JSON.parse((await type([...words, "--json"])).out);
  const status = await type(["command", "/status"]);
  return {
    ls: (await read("ls")).find(({ id }: { id: string }) => id === runId).state,
    tree: (await read("tree", runId)).state,
    show: (await read("show", runId)).state,
    sessions: (await read("sessions", "list", "--all"))[0].status,
    "/status": /general#\w+ (\w+)/.exec(status.out)?.[1] ?? status.out,
    "/tree": /^Run \w+ (\w+):/.exec((await type(["command", "/tree", runId])).out)?.[1] ?? "",
  };
}

const all = (state: string) => ({
  ...{ ls: state, tree: state, show: state },
  ...{ sessions: state, "/status": state, "/tree": state },
});

it(
  "shows a run that is spread as running while a worker lives, whoever started it",
  patience,
  async () => {
    const runId = await fleet.startAndLeave("wait 60000");
    expect(await statesOf(runId)).toEqual(all("running"));
    expect((await type(["ls"])).err).not.toContain("nterrupted");
    expect((await type(["tree", runId])).err).not.toContain("Go on");
    await fleet.loseHolder(runId);
    await expect.poll(() => statesOf(runId), { timeout: 45_000 }).toEqual(all("interrupted"));
    expect((await type(["ls"])).err).toBe(
      "\nInterrupted runs that are distributed continue with: mandate worker\n",
    );
    expect((await type(["tree", runId])).err).toBe("\nStart a worker: mandate worker\n");
    // Also while somebody is there who started another one, and does not work.
    const { runId: other } = await fleet.client.engine.startRun({
      task: "wait 0",
      profile: "general",
    });
    expect((await statesOf(runId))["tree"]).toBe("interrupted");
    expect((await statesOf(other))["tree"]).toBe("running");
  },
);

it("does not resume what workers work on, and says who does", patience, async () => {
  const runId = await fleet.startAndLeave("wait 60000");
  expect(await type(["resume", runId])).toMatchObject({
    code: 1,
    err: `mandate: Workers work on ${runId}. Watch it: mandate logs ${runId} --follow. To end it: mandate cancel ${runId}\n`,
  });
  const command = await type(["command", `/resume ${runId}`]);
  expect(command.err + command.out).toContain(`Workers work on ${runId}.`);
});

it("has what no worker works on any more sent again, and waits for one", patience, async () => {
  const runId = await fleet.startAndLeave("steps 1 1500");
  await fleet.loseHolder(runId);
  const list = async () => (await type(["ls", "--json"])).out;
  await expect.poll(list, { timeout: 45_000 }).toContain('"state": "interrupted"');
  // Who works on its own runs alone sends nothing to workers.
  expect(await type(["resume", runId], "local")).toMatchObject({
    code: 1,
    err: `mandate: ${runId} is distributed, and no worker works on it. Start one: mandate worker\n`,
  });
  const resuming = start(["resume", runId]);
  const missing = "No worker takes from `default`: start `mandate worker`.";
  await until(() => resuming.soFar().err.includes(missing), "the hint");
  await fleet.add();
  expect(await resuming.done).toMatchObject({ code: 0, out: "1 steps\n" });
});
