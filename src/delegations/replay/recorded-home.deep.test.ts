import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { replayAgain } from "./replay-again.test-support.ts";

it("replays what version 0.1.0 recorded to the same, also when no sentence can be read", async () => {
  const home = mkdtempSync(join(tmpdir(), "mandate-home-"));
  const archive = join(import.meta.dirname, "../../surfaces/recorded-home/0.1.0.tar.gz");
  execFileSync("tar", ["--no-same-owner", "-xzf", archive, "-C", home]);
  const place = join(home, "mandate.db");
  const artifacts = join(home, "artifacts");
  const store = new SqliteStore({ path: place, synchronous: "normal", artifacts });
  try {
    const runs = await store.listRuns({});
    expect(runs).toHaveLength(31);
    for (const { id, outcome, task } of runs) {
      const { differences, isFinished } = await replayAgain(store, id);
      expect({ task, differences, isFinished }).toEqual({
        ...{ task, differences: [], isFinished: outcome !== null },
      });
    }
  } finally {
    await store.close();
    rmSync(home, { recursive: true, force: true });
  }
});
