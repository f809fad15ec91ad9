import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptedModel } from "../../src/models/scripted/scripted-model.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openProcessFleet } from "../../src/testing/process-fleet.test-support.ts";
import { spokenScript } from "../../src/testing/spoken-script.test-support.ts";

interface FleetLoad {
  readonly atOnce: number;
  readonly workers: number;
  /** What is done first, and not measured; absent: enough for everything to be loaded. */
  readonly warmUp?: string;
}

const loadEverything = "fan 4 wait 0";

/** Milliseconds for one run with this task, on so many workers. */
export async function measureFleet(
  task: string,
  { atOnce, warmUp = loadEverything, workers }: FleetLoad,
): Promise<number> {
  await using fleet = await openProcessFleet({ workers, atOnce, notes: false });
  // The run that counts finds everything loaded and every statement prepared.
  await timeRun(fleet.client.engine, warmUp);
  return await timeRun(fleet.client.engine, task);
}

/** The measurement on one process with the embedded database, for comparison. */
export async function measureLocal(
  task: string,
  atOnce: number,
  warmUp = loadEverything,
): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), "mandate-local-"));
  const runtime = await createRuntime({
    consent: "named",
    environment: { MANDATE_HOME: home, HOME: home, MANDATE_MAX_CHILDREN: "100000" },
    cwd: home,
    scripted: scriptedModel(spokenScript(undefined)),
    maxConcurrent: atOnce,
    limits: { runTokens: 1_000_000_000, maxTokens: 500_000_000 },
  });
  try {
    await timeRun(runtime.engine, warmUp);
    return await timeRun(runtime.engine, task);
  } finally {
    await runtime.close();
    rmSync(home, { recursive: true, force: true });
  }
}

type Engine = Awaited<ReturnType<typeof createRuntime>>["engine"];

async function timeRun(engine: Engine, task: string): Promise<number> {
  const began = performance.now();
  const { result } = await engine.startRun({ task, profile: "general" });
  const { closeReason, result: said, status } = await result;
  if (status !== "completed")
    throw new Error(`It ended as ${status} (${closeReason}): ${said.slice(0, 300)}`);
  return performance.now() - began;
}
