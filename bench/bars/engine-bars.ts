import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { replayRun } from "../../src/delegations/replay/replay-run.ts";
import { callIdsOf, parseToolCall } from "../../src/models/reply-blocks.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { openEngine, testProfile } from "../../src/testing/engine-fixture.ts";
import { note, StoredRun } from "../../src/testing/stored-run.ts";
import { openFolder } from "../load/open-folder.ts";
import { measureRecovery } from "../load/queue/measure-recovery.ts";
import { median } from "../run/report.ts";
import { type Bar, growth, linear, ratio, worstGrowth } from "./bar.ts";

const caller = {
  ...{ delegationId: "d1", profile: "general", task: "hello" },
  ...{ depth: 0, attempt: 1, turn: 1, try: 1 },
};

const ids: readonly ((place: number) => string)[] = [
  () => "",
  () => "same",
  // The ids that doubles get are wanted by other calls.
  (place) => (place % 2 === 0 ? "a" : `a_1_1_${place}`),
];

const profiles = [
  testProfile("boss", { capabilities: ["primary"], tools: ["delegate_task", "list_files"] }),
  testProfile("worker", { tools: ["list_files"] }),
];

/** Runs, their log, and what becomes of them after a crash. */
export const engineBars: readonly Bar[] = [
  {
    name: "engine: calls with ids that are there twice",
    ...linear,
    measure: () =>
      worstGrowth(ids, 512, (idOf, size) => () => {
        const context = { ...callIdsOf([]), isUnfinished: false, caller };
        for (let place = 0; place < size; place += 1) {
          parseToolCall({ toolCallId: idOf(place), toolName: "grep", input: "{}" }, context);
        }
      }),
  },
  {
    name: "engine: a turn of many calls",
    ...linear,
    measure: async () => {
      await using engine = await openEngine({
        profiles,
        model: ({ caller: { task, turn } }) =>
          turn > 1
            ? "done"
            : {
                calls: Array.from({ length: Number(task) }, () => ({
                  ...{ tool: "nothing", id: "same" },
                })),
              },
      });
      const once = { rounds: 3, leastUs: 1 };
      return await growth(
        250,
        (size) => () => engine.run({ task: String(size), profile: "worker" }),
        once,
      );
    },
  },
  {
    name: "engine: an append to the log",
    about: "100 events over 100 rows by bare SQLite, a transaction each",
    atMost: 6,
    async measure() {
      const folder = openFolder("bars");
      const path = join(folder, "store.db");
      const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
      const bare = new DatabaseSync(join(folder, "bare.db"));
      try {
        bare.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
        bare.exec("CREATE TABLE events (seq INTEGER PRIMARY KEY, run INTEGER, body TEXT)");
        const insert = bare.prepare("INSERT INTO events (run, body) VALUES (?, ?)");
        const run = await StoredRun.start(store);
        const child = await run.child();
        const event = note(child, "The berth is sound, the crane is not in use.");
        const hundred = (append: () => unknown) => async () => {
          for (let count = 0; count < 100; count += 1) await append();
        };
        return await ratio(
          hundred(() => run.append(event)),
          hundred(() => {
            bare.exec("BEGIN IMMEDIATE");
            insert.run(1, JSON.stringify(event));
            bare.exec("COMMIT");
          }),
        );
      } finally {
        bare.close();
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  },
  {
    name: "engine: the replay of a run with thirty children",
    about: "the replay over the run",
    atMost: 2,
    async measure() {
      await using engine = await openEngine({
        profiles,
        model({ caller: { profile, turn } }) {
          const isFirst = turn === 1;
          if (profile === "worker") {
            return isFirst ? { calls: [{ tool: "list_files", input: {} }] } : "done";
          }
          if (!isFirst) return "all done";
          const input = { profile: "worker", task: "part" };
          return { calls: Array.from({ length: 30 }, () => ({ tool: "delegate_task", input })) };
        },
      });
      const { workspace } = engine;
      const run = () => engine.run({ task: "go", profile: "boss", workspace });
      const { runId } = await run();
      const replay = async () => {
        const memory = new SqliteStore({
          path: ":memory:",
          synchronous: "normal",
          artifacts: null,
        });
        const { differences } = await replayRun(engine.store, runId, memory);
        await memory.close();
        if (differences.length > 0) throw new Error("The replay is different from the run.");
      };
      return await ratio(replay, run);
    },
  },
  {
    name: "engine: recovery of a run whose process was killed",
    about: "opening and recovery with 400 children over those with 50",
    atMost: 10,
    async measure() {
      const ratios: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const [few, many] = [
          await measureRecovery("few", 1, 50),
          await measureRecovery("many", 1, 400),
        ];
        ratios.push((many.openMs + many.recoverMs) / (few.openMs + few.recoverMs));
      }
      return median(ratios);
    },
  },
];
