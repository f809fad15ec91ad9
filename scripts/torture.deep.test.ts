import { afterAll, describe, expect, test } from "vitest";
import { clockJumps } from "./torture/clock-kind.ts";
import { diskFaults, fileFaults } from "./torture/disk-kind.ts";
import { commitKills, randomKills } from "./torture/kill-kinds.ts";
import type { Kind } from "./torture/kind.ts";
import { kinds } from "./torture/kinds.ts";
import { KnownRun } from "./torture/known-run.ts";
import { cutLines } from "./torture/line-kinds.ts";
import { parseOptions } from "./torture/options.ts";
import { differences, type Outcome } from "./torture/outcome.ts";
import { openPostgresPlace, type PostgresPlace } from "./torture/postgres-place.ts";
import { sqlitePlace } from "./torture/store-place.ts";
import { lackOfTracing } from "./torture/system-calls.ts";
import { torture } from "./torture/torture.ts";
import { zombies } from "./torture/zombie-kind.ts";

// On a machine that does much else at the same time, each life takes seconds.
const patience = { timeout: 120_000 };

let postgres: Promise<PostgresPlace> | undefined;

afterAll(async () => (await postgres)?.[Symbol.asyncDispose]());

/** Few rounds of few children: the long way is `npm run torture`. */
async function shortly(kind: Kind, store: "sqlite" | "postgres", point?: string) {
  if (store === "postgres") postgres ??= openPostgresPlace();
  const place = store === "postgres" && postgres !== undefined ? await postgres : sqlitePlace;
  const short = { ...kind, job: { ...kind.job, rounds: 1, speed: 4, hasRepository: false } };
  return torture(short, place, {
    ...{ seed: 7, rounds: 1, children: 2, synchronous: "normal" },
    ...(point !== undefined && { point }),
  });
}

describe("a run with children loses nothing and repeats nothing", () => {
  test("when it is killed at random moments", patience, async () => {
    const { tally } = await shortly(randomKills, "sqlite");
    expect(tally.kills).toBeGreaterThan(0);
    expect(tally).toMatchObject({ runs: 1, children: 2 });
  });

  test("when it dies in a transaction, on Postgres", patience, async () => {
    const { tally } = await shortly(commitKills, "postgres", "sent 5");
    expect(tally.kills).toBe(2);
  });

  test("when its connection is cut before a commit is answered", patience, async () => {
    const { tally } = await shortly(cutLines, "postgres", "drop-reply 4");
    expect(tally).toMatchObject({ runs: 1, lives: 1 });
  });

  test.skipIf(lackOfTracing() !== undefined)(
    `when its disk is full for a moment and when it stays full (${lackOfTracing() ?? "by strace"})`,
    patience,
    async () => {
      const moment = await shortly(diskFaults, "sqlite", "pwrite64 60 full-for-a-moment");
      expect(moment.tally.runs).toBe(1);
      const full = await shortly(diskFaults, "sqlite", "pwrite64 60 full");
      expect(full.tally.lives).toBeGreaterThan(1);
    },
  );

  test("when a write to another file fails", patience, async () => {
    const { tally } = await shortly(fileFaults, "sqlite", "file 4 broken-once");
    expect(tally.runs).toBe(1);
  });

  test("when a stopped process wakes up that somebody took over from", patience, async () => {
    const { tally } = await shortly(zombies, "sqlite");
    expect(tally).toMatchObject({ runs: 1, lives: 1 });
  });

  test("when the clock jumps by an hour", patience, async () => {
    const { tally } = await shortly(clockJumps, "sqlite");
    expect(tally.runs).toBe(1);
  });
});

const child = {
  parent: "root" as string | null,
  status: "completed",
  reason: "",
  text: "Done.",
  wasCut: false,
  wasHit: false,
};

function outcomeWith(changed: Partial<typeof child>): Outcome {
  const root = { ...child, parent: null, text: `It said: ${changed.text ?? child.text}` };
  const delegations = new Map([
    ["root", root],
    ["child", { ...child, ...changed }],
  ]);
  return { run: "succeeded", delegations, files: new Map(), problems: [], cutCalls: 0 };
}

test("another result, another end and a missing child are told", () => {
  const undisturbed = outcomeWith({});
  expect(differences(undisturbed, undisturbed)).toEqual([]);
  expect(differences(outcomeWith({ text: "Lost." }), undisturbed)).toEqual([
    'root says "It said: Lost.", not "It said: Done.".',
    'child says "Lost.", not "Done.".',
  ]);
  expect(differences(outcomeWith({ status: "failed" }), undisturbed)).toHaveLength(1);
  const alone = { ...undisturbed, delegations: new Map() };
  expect(differences(alone, undisturbed)).toHaveLength(2);
});

test("a cut call excuses what its delegation and those above it say, and not how they ended", () => {
  const undisturbed = outcomeWith({});
  expect(differences(outcomeWith({ text: "Perhaps.", wasCut: true }), undisturbed)).toEqual([]);
  expect(differences(outcomeWith({ status: "failed", wasCut: true }), undisturbed)).toHaveLength(1);
});

test("a broken disk excuses how one ended only where a disk was broken", () => {
  const undisturbed = outcomeWith({});
  const hit = outcomeWith({ status: "failed", reason: "storage_full", wasHit: true });
  expect(differences(hit, undisturbed, true)).toEqual([]);
  expect(differences(hit, undisturbed)).toHaveLength(1);
  const other = outcomeWith({ status: "failed", reason: "timeout" });
  expect(differences(other, undisturbed, true)).toHaveLength(1);
});

test("one that would be given up the next time is spared until it got somewhere", () => {
  const known = new KnownRun();
  const opened = { id: "a", status: "running", resumptions: 2, waits: false };
  known.beginLife();
  known.hear({ type: "opened", open: [opened] });
  expect(known.mayBeKilled).toBe(false);
  const turn = { run_id: "r", seq: 1, hash: "h", type: "agent.model_turn", id: "a" };
  known.hear({ type: "committed", events: [turn] });
  expect(known.mayBeKilled).toBe(true);
  known.beginLife();
  known.hear({ type: "opened", open: [{ ...opened, waits: true }] });
  expect(known.mayBeKilled).toBe(true);
});

test("options that make no sense are refused with a sentence", () => {
  expect(parseOptions([]).only).toEqual(kinds.map(({ name }) => name));
  expect(() => parseOptions(["--rounds", "many"])).toThrow("--rounds is a whole number from 1 on");
  expect(() => parseOptions(["--synchronous", "off"])).toThrow("--synchronous is full or normal");
  expect(() => parseOptions(["--only", "flood"])).toThrow("--only is kill or");
  expect(() => parseOptions(["--point", "1"])).toThrow("--only and --store");
  expect(() => parseOptions(["--kilss", "3"])).toThrow("--kilss");
});
