import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openProcessFleet, type ProcessFleet } from "../../testing/process-fleet.test-support.ts";
import { until } from "../../testing/until.ts";
import { openDesk } from "./beside.test-support.ts";

const patience = { timeout: 180_000 };
let fleet: ProcessFleet;
let desk: ReturnType<typeof openDesk>;

beforeEach(async () => {
  fleet = await openProcessFleet({ workers: 0 });
  desk = openDesk(fleet.url);
}, 180_000);

afterEach(async () => {
  desk[Symbol.dispose]();
  await fleet[Symbol.asyncDispose]();
});

describe("a process without a terminal that waits for workers", () => {
  it("prints the result of a run, of a command and as a document", patience, async () => {
    await fleet.add();
    const run = desk.mandate("run", "--trust-folder", "wait 1000");
    const json = desk.mandate("run", "--trust-folder", "--json", "wait 1000");
    const command = desk.mandate("command", "--trust-folder", "/oracle wait");
    expect([await run.ended, await json.ended, await command.ended]).toEqual([0, 0, 0]);
    expect(run.said.out).toBe("waited\n");
    expect(JSON.parse(json.said.out)).toMatchObject({ status: "completed", result: "waited" });
    expect(command.said.out).toBe("waited\n");
  });

  it("ends by itself when its program has what it waited for", patience, async () => {
    await fleet.add();
    const program = desk.program(`
      const { result } = await mandate.delegate({ profile: "general", task: "wait 1000" });
      console.log(result);`);
    expect(await program.ended).toBe(0);
    expect(program.said).toEqual({ out: "waited\n", err: "" });
  });

  it("waits for nothing that its program does not ask for", patience, async () => {
    const program = desk.program(`
      const { runId } = await mandate.start({ profile: "general", task: "wait 0" });
      console.log(runId);`);
    expect(await program.ended).toBe(0);
    const runId = program.said.out.trim();
    expect((await fleet.client.store.readRun(runId))?.outcome).toBeNull();
  });

  it("waits for what another left, until it is closed", patience, async () => {
    const first = desk.program(`await mandate.start({ profile: "general", task: "wait 500" });`);
    await first.ended;
    const [row] = await fleet.client.store.listRuns({ open: true, limit: 1 });
    // Nobody else sends it while its sender may live.
    const { store } = fleet.client;
    await until("its lease ends", async () => !(await store.isWorkerAlive(row?.worker ?? "")));
    const impatient = desk.program(`
      for (const run of mandate.recovered) void run.result;
      await mandate.close();
      console.log(mandate.recovered.length);`);
    const patient = desk.program(`
      console.log("waiting");
      for (const run of mandate.recovered) console.log((await run.result).result);`);
    await patient.printed("waiting");
    expect(await impatient.ended).toBe(0);
    expect(impatient.said.out).toBe("1\n");
    await fleet.add();
    expect(await patient.ended).toBe(0);
    expect(patient.said.out).toBe("waiting\nwaited\n");
  });
});
