/** A disk that is really full: state, log, the parent's view, remains. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { nothing } from "./aftermath.test-support.ts";
import { openFaultHome } from "./fault-home.test-support.ts";
import { life, turn } from "./fault-scene.test-support.ts";

vi.setConfig({ testTimeout: 120_000 });

const small = ["--dev-bind", "/", "/", "--size", "1000000", "--tmpfs", "/mnt", "true"];
const hasSmallDisks = spawnSync("bwrap", small).status === 0;
const why = hasSmallDisks ? "" : " (skipped: bwrap cannot mount a small file system here)";

it.skipIf(!hasSmallDisks)(
  `fault 16: on a full disk nothing is acknowledged that is not there, and the reserve holds the ends${why}`,
  async () => {
    await using home = await openFaultHome();
    const child = [{ calls: [{ tool: "mark" }] }];
    const spoken = await home.work({ child, diskBytes: 12_000_000 });
    expect(spoken).toMatchObject({ signal: null, result: { status: "completed" } });
    const after = await home.after();
    expect(after).toMatchObject({
      states: ["closed failed storage_full"],
      events: [life(...turn, "tool_started", "tool_outcome_unknown", "failed")],
      ofRun: ["run.started", "run.finished"],
      told: [{ status: "failed", closeReason: "storage_full", evidence: { tool_calls: 0 } }],
      left: nothing,
    });
    const stored = new Set(after.log.map(({ hash }) => hash));
    expect(spoken.acknowledged?.length).toBe(stored.size);
    expect(spoken.acknowledged?.filter((hash) => !stored.has(hash))).toEqual([]);
    // It was given up for these ends.
    expect(existsSync(join(home.home, "mandate.db-reserve"))).toBe(false);
  },
);
