import { afterEach, beforeEach, expect, it } from "vitest";
import {
  openProcessFleet,
  type ProcessFleet,
} from "../../../testing/process-fleet.test-support.ts";
import { Desk, type Typing, until } from "../desk.test-support.ts";

const patience = { timeout: 60_000 };
const noProcess = /No process works on/;

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

const environment = () => ({ MANDATE_DATABASE_URL: fleet.url, MANDATE_ENGINE: "dbos" });

const follow = (runId: string): Typing =>
  desk.start(["logs", "--follow", runId], { environment: environment() });

it(
  "follows a run that is spread to its end when whoever started it has left",
  patience,
  async () => {
    const runId = await fleet.startAndLeave("fan 2 wait 1500");
    const { code, err, out } = await follow(runId).done;
    expect(err).not.toMatch(noProcess);
    expect(code).toBe(0);
    expect(out).toContain("run succeeded");
  },
);

it("waits while a run that nobody has begun is behind others in a queue", patience, async () => {
  const { result } = await fleet.client.engine.startRun({ task: "wait 3000", profile: "general" });
  const runId = await fleet.startAndLeave("wait 0");
  const following = follow(runId);
  await result;
  const { err, out } = await following.done;
  expect(err).not.toMatch(noProcess);
  expect(out).toContain("run succeeded");
});

it("waits while another worker can take over from one that is lost", patience, async () => {
  await fleet.add();
  const runId = await fleet.startAndLeave("steps 4 1500");
  const following = follow(runId);
  await fleet.loseHolder(runId);
  const { err, out } = await following.done;
  expect(err).not.toMatch(noProcess);
  expect(out.match(/claimed by a worker/g)).toHaveLength(2);
  expect(out).toContain("run succeeded");
});

it(
  "says that nobody works on it when the last worker is gone, and what it takes",
  patience,
  async () => {
    // Each step takes longer than whoever follows waits between two looks.
    const runId = await fleet.startAndLeave("steps 100 400");
    const following = follow(runId);
    const lines = () => following.soFar().out.split("\n").length;
    await until(() => following.soFar().out.includes("started"), "the past");
    const past = lines();
    await until(() => lines() > past + 8, "several steps");
    expect(following.soFar().err).toBe("");
    await fleet.loseHolder(runId);
    const { code, err } = await following.done;
    expect(code).toBe(0);
    expect(err).toBe(`No process works on ${runId}. Start a worker: mandate worker\n`);
    await fleet.add();
    const again = async () =>
      (await desk.type(["logs", runId], { environment: environment() })).out.match(
        /claimed by a worker/g,
      );
    await expect.poll(again, { timeout: 45_000 }).toHaveLength(2);
  },
);
