import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import type { StoredEvent } from "../event.ts";
import type { CheckReport, Invariant } from "./check-report.ts";
import { type CheckOptions, checkStore } from "./check-store.ts";
import type { CheckedDelegation } from "./checked-run.ts";
import { forgedBudgets, soundBudgets } from "./forged-budgets.test-support.ts";
import { forgedLives } from "./forged-lives.test-support.ts";
import { ForgedLog } from "./forged-log.test-support.ts";
import { forgedMerges } from "./forged-merges.test-support.ts";
import { forgedPlans, soundPlans } from "./forged-plans.test-support.ts";
import { forgedReceipts } from "./forged-receipts.test-support.ts";
import { forgedRecords } from "./forged-records.test-support.ts";
import { forgedShares, soundShares } from "./forged-shares.test-support.ts";
import { forgedWork } from "./forged-work.test-support.ts";
import { type HealthyRuns, makeHealthyDatabase } from "./healthy-database.test-support.ts";
import { addMerges } from "./merged-run.test-support.ts";
import { soundMessages } from "./sound-messages.test-support.ts";
import { tamperings } from "./tamperings.test-support.ts";

let folder: string;
let healthy: string;
let runs: HealthyRuns;
let copies = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mandate-check-"));
  healthy = join(folder, "healthy.db");
  runs = await makeHealthyDatabase(healthy);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The report on a copy of the healthy database, after something was done to it. */
async function reportAfter(
  change: (log: ForgedLog, runs: HealthyRuns) => void,
  options: CheckOptions = {},
): Promise<CheckReport> {
  const path = join(folder, `${++copies}.db`);
  copyFileSync(healthy, path);
  const log = new ForgedLog(path);
  change(log, runs);
  log.close();
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  try {
    return await checkStore(store, options);
  } finally {
    await store.close();
  }
}

const invariants = Array.from({ length: 18 }, (_, index) => `I${index + 1}` as Invariant);

const invariantsOf = ({ violations }: CheckReport): readonly string[] => [
  ...new Set(violations.map(({ invariant }) => invariant)),
];

describe("checkStore", () => {
  it("finds nothing wrong with what the engine wrote", async () => {
    const report = await reportAfter(() => {});
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject({ ok: true, delegations: 24 });
    expect(report.events).toBeGreaterThan(200);
  });

  it("finds nothing wrong after everything was read and written again unchanged", async () => {
    const report = await reportAfter((log, { rich }) => log.rewrite(rich, (events) => events));
    expect(report.violations).toEqual([]);
  });

  it("finds nothing wrong with merges that are as they should be", async () => {
    const report = await reportAfter((log, healthyRuns) => void addMerges(log, healthyRuns));
    expect(report.violations).toEqual([]);
  });

  it.each(soundShares)("finds nothing wrong with a spread run: $title", async ({ change }) => {
    expect((await reportAfter(change)).violations).toEqual([]);
  });

  it.each(soundPlans)("finds nothing wrong with a plan: $title", async ({ change }) => {
    expect((await reportAfter(change)).violations).toEqual([]);
  });

  it.each(soundMessages)("finds nothing wrong with a message: $title", async ({ change }) => {
    expect((await reportAfter(change)).violations).toEqual([]);
  });

  it.each(soundBudgets)("finds nothing wrong with a budget: $title", async ({ change }) => {
    expect((await reportAfter(change)).violations).toEqual([]);
  });

  it("concludes nothing from what a person's folder held between two merges", async () => {
    const report = await reportAfter((log, healthyRuns) => {
      const { ids } = addMerges(log, healthyRuns);
      const files = [{ path: "s", before: "edited by hand", after: "s2" }];
      log.rewrite(healthyRuns.rich, (events) =>
        events.map((event) =>
          event.type === "agent.worktree_merged" && event.sub_agent_id === ids.second
            ? { ...event, payload: { ...event.payload, files } }
            : event,
        ),
      );
    });
    expect(report.violations).toEqual([]);
  });

  it("tells of every delegation what became of it, and nothing of a damaged log", async () => {
    const told: CheckedDelegation[] = [];
    const onDelegation = (one: CheckedDelegation): void => void told.push(one);
    await reportAfter((log, healthyRuns) => void addMerges(log, healthyRuns), { onDelegation });
    expect(told.filter(({ copyId }) => copyId !== null)).toHaveLength(5);
    expect(told.every(({ closedAt, status }) => status !== "open" && closedAt !== null)).toBe(true);
    told.length = 0;
    const damage = "UPDATE event_batches SET events = ' ' || events WHERE run > 0";
    await reportAfter(({ database }) => database.exec(damage), { onDelegation });
    expect(new Set(told.map(({ status }) => status))).toEqual(new Set(["unclear"]));
    expect(told).toHaveLength(24);
  });

  it("looks at one run alone when asked to", async () => {
    const report = await reportAfter(() => {}, { runId: runs.cancelled });
    expect(report).toMatchObject({ ok: true, delegations: 3 });
  });

  it("looks at the control log alone when asked to", async () => {
    const report = await reportAfter(() => {}, { runId: runs.control });
    expect(report).toMatchObject({ ok: true, events: 11, delegations: 0 });
    const eve = "UPDATE records SET updated_by = 'eve'";
    const tampered = await reportAfter(({ database }) => database.exec(eve), {
      runId: runs.control,
    });
    expect(tampered.violations).toMatchObject([
      { invariant: "I7", runId: runs.control },
      { invariant: "I7", runId: runs.control },
      { invariant: "I7", runId: runs.control },
    ]);
  });

  it("remembers what was done to a record behind its back when it is changed again", async () => {
    const path = join(folder, `${++copies}.db`);
    copyFileSync(healthy, path);
    const log = new ForgedLog(path);
    log.database.exec("UPDATE records SET value = '[]' WHERE resource_id = 'profile-pin:me'");
    log.close();
    const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
    const change = { resourceType: "policy", resourceId: "profile-pin:me", expectedVersion: 3 };
    await store.changeRecords([{ ...change, value: { profileId: "coder" } }], "ann");
    const report = await checkStore(store);
    expect(report.violations).toMatchObject([{ invariant: "I1", runId: runs.control }]);
    await store.close();
  });

  it("says that a run does not exist", async () => {
    const report = reportAfter(() => {}, { runId: "rffffff" });
    await expect(report).rejects.toMatchObject({ code: "unknown-run" });
  });

  it("confirms what was acknowledged and misses what is gone", async () => {
    const acknowledged = await eventsIn(healthy);
    const sound = await reportAfter(() => {}, { acknowledged });
    expect(sound.violations).toEqual([]);
    const last = acknowledged.at(-1) as StoredEvent;
    const lost = { run_id: last.run_id, seq: last.seq + 1, hash: "0".repeat(64) };
    const report = await reportAfter(() => {}, { acknowledged: [...acknowledged, lost] });
    expect(report.violations).toMatchObject([{ invariant: "I8", seq: lost.seq }]);
  });

  it("misses the acknowledged events of a run that is gone altogether", async () => {
    const acknowledged = [{ run_id: "rffffff", seq: 1, hash: "0".repeat(64) }];
    const report = await reportAfter(() => {}, { acknowledged });
    expect(invariantsOf(report)).toEqual(["I8"]);
  });

  it("needs a store that shows its rows", async () => {
    const store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
    Object.defineProperty(store, "inspect", { value: undefined });
    await expect(checkStore(store)).rejects.toMatchObject({ code: "usage" });
    await store.close();
  });
});

describe("a database that somebody changed", () => {
  for (const { title, invariant, change } of tamperings) {
    it(`is found out: ${title}`, async () => {
      const report = await reportAfter(change);
      expect(report.ok).toBe(false);
      expect(invariantsOf(report), JSON.stringify(report.violations)).toEqual([invariant]);
    });
  }
});

const bugs = [
  ...[forgedLives, forgedWork, forgedMerges, forgedPlans, forgedRecords],
  ...[forgedShares, forgedReceipts, forgedBudgets],
].flat();

describe("a log that a runtime with a bug wrote", () => {
  for (const { title, invariant, says, change } of bugs) {
    it(`breaks ${invariant}: ${title}`, async () => {
      const report = await reportAfter(change);
      expect(report.ok).toBe(false);
      expect(invariantsOf(report), JSON.stringify(report.violations)).toEqual([invariant]);
      if (says === undefined) return;
      for (const { message } of report.violations) expect(message).toMatch(says);
    });
  }
});

/** What was acknowledged is no part of the log: this one has tests of its own, above. */
const withoutSeededBug: ReadonlySet<Invariant> = new Set(["I8"]);

describe(`the gate of the checker: ${bugs.length + tamperings.length} seeded bugs, each found by its invariant`, () => {
  it.each(invariants)("has one or more for %s", (invariant) => {
    const all = [...bugs, ...tamperings].filter((bug) => bug.invariant === invariant);
    if (!withoutSeededBug.has(invariant)) expect(all.length).toBeGreaterThan(0);
  });
});

async function eventsIn(path: string): Promise<StoredEvent[]> {
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({})) events.push(event);
  await store.close();
  return events;
}
