import { afterEach, beforeEach, expect, it } from "vitest";
import { openProcessFleet, type ProcessFleet } from "../../testing/process-fleet.test-support.ts";
import type { Display } from "./display.ts";
import type { Io } from "./io.ts";
import { tellOfMissingWorker } from "./work-on.ts";

let fleet: ProcessFleet;
let said: string[];

beforeEach(async () => {
  said = [];
  fleet = await openProcessFleet({ workers: 0, atOnce: 1 });
}, 60_000);

afterEach(() => fleet[Symbol.asyncDispose]());

async function startAndLook(afterMs: number, task = "wait 0") {
  const runtime = fleet.client;
  const run = await runtime.engine.startRun({ task, profile: "general" });
  const display = { say: (text: string) => void said.push(text) } as Display;
  const io = { program: "mandate" } as Io;
  return { run, stop: tellOfMissingWorker({ display, io, runtime }, run, afterMs) };
}

it("says once which queue nobody takes from", async () => {
  const { run } = await startAndLook(50);
  await expect
    .poll(() => said, { timeout: 45_000 })
    .toEqual(["No worker takes from `default`: start `mandate worker`."]);
  await fleet.add();
  expect(await run.result).toMatchObject({ status: "completed" });
  expect(said).toHaveLength(1);
});

it("says nothing while the only worker is busy, or when nobody looks any more", async () => {
  const { run: first, stop } = await startAndLook(50, "wait 2000");
  stop();
  await fleet.add();
  await expect.poll(() => fleet.notes(), { timeout: 45_000 }).toHaveLength(1);
  const { run } = await startAndLook(50);
  await Promise.all([first.result, run.result]);
  expect(said).toEqual([]);
});
