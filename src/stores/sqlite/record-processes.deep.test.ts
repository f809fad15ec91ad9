import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { controlRunId } from "../../ports/identity.ts";
import { change, collect } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { startBeside, untilTheyHave } from "./process-beside.test-support.ts";
import { SqliteStore } from "./sqlite-store.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = testFolder();
  path = join(folder, "mandate.db");
});

const open = (at = path): SqliteStore =>
  new SqliteStore({ path: at, synchronous: "normal", artifacts: null, pollMs: 10 });

describe("twenty processes that change one record", () => {
  it("lose no update", async () => {
    const times = 10;
    const processes = Array.from({ length: 20 }, () =>
      startBeside(new URL("./count-beside.test-support.ts", import.meta.url), [path, times]),
    );
    const codes = await Promise.all(processes.map(({ ended }) => ended));
    expect(codes).toEqual(codes.map(() => 0));
    const store = open();
    const sum = await store.readRecord("policy", "sum");
    expect(sum).toMatchObject({ value: { count: 20 * times }, version: 20 * times });
    const log = await collect(store, { runId: controlRunId });
    expect(log.map(({ payload }) => "version" in payload && payload.version)).toEqual(
      Array.from({ length: 20 * times }, (_, index) => index + 1),
    );
    expect(new Set(log.map(({ payload }) => "actor" in payload && payload.actor)).size).toBe(20);
    expect((await checkStore(store, { acknowledged: log })).violations).toEqual([]);
    await store.close();
  }, 60_000);
});

/** Three records that are only ever changed together, so that half a change would show. */
async function stateOf(at: string): Promise<number> {
  const store = open(at);
  try {
    expect((await checkStore(store)).violations).toEqual([]);
    const records = await store.listRecords("policy");
    const states = records.map(({ value, version }) => [
      (value as { number: number }).number,
      version,
    ]);
    expect([0, 3]).toContain(states.length);
    const version = states[0]?.[1] ?? 0;
    expect(states).toEqual(states.map(() => [version, version]));
    const log = await collect(store, { runId: controlRunId });
    expect(log).toHaveLength(3 * version);
    return version;
  } finally {
    await store.close();
  }
}

describe("a change of several records that is cut", () => {
  it("has happened or has not, wherever the writing stopped", async () => {
    const store = open();
    const changeAll = (version: number): Promise<unknown> => {
      const value = { number: version + 1, filling: "x".repeat(9_000) };
      const changes = ["a", "b", "c"].map((id) => change(id, version, value));
      return store.changeRecords(changes, "cut");
    };
    await changeAll(0);
    const before = readFileSync(`${path}-wal`).length;
    await changeAll(1);
    // What a killed process leaves is the beginning of what it would have written.
    const written = readFileSync(`${path}-wal`);
    const cut = join(folder, "cut.db");
    const states: number[] = [];
    for (let length = before; length <= written.length; length += 1024) {
      copyFileSync(path, cut);
      rmSync(`${cut}-shm`, { force: true });
      writeFileSync(`${cut}-wal`, written.subarray(0, length));
      states.push(await stateOf(cut));
    }
    copyFileSync(path, cut);
    writeFileSync(`${cut}-wal`, written);
    states.push(await stateOf(cut));
    expect(states.length).toBeGreaterThan(20);
    expect([states[0], states.at(-1)]).toEqual([1, 2]);
    expect(states).toEqual(states.toSorted());
    await store.close();
  });

  it("has happened if that was acknowledged, whenever the process is killed", async () => {
    for (let round = 1; round <= 4; round++) {
      const killed = startBeside(new URL("./decide-beside.test-support.ts", import.meta.url), [
        path,
      ]);
      onTestFinished(() => void killed.process.kill("SIGKILL"));
      const enough = 3 * round;
      await untilTheyHave("changed often enough", [killed], () => killed.lines.length >= enough);
      // Somewhere within a change, and not just after one.
      await new Promise((resolve) => setTimeout(resolve, 2));
      killed.process.kill("SIGKILL");
      await killed.ended;
      const said = killed.lines.filter((line) => line.endsWith(".")).at(-1) ?? "";
      const state = await stateOf(path);
      expect([0, 1]).toContain(state - Number.parseInt(said, 10));
    }
  }, 60_000);
});
