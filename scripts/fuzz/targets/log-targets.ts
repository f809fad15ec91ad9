import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdirSync, rmSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import fc from "fast-check";
import { verifyHome } from "../../../src/application/verify-home.ts";
import { parseContract } from "../../../src/contracts/parse-contract.ts";
import type { ScriptedCall } from "../../../src/models/scripted/playbook.ts";
import { openStore } from "../../../src/open-store.ts";
import type { Store } from "../../../src/ports/store.ts";
import { exportSession } from "../../../src/sessions/export-session.ts";
import { printableLine } from "../../../src/surfaces/cli/printable.ts";
import { openEngine, testProfile } from "../../../src/testing/engine-fixture.ts";
import { exampleContract } from "../../../src/testing/example-contract.ts";
import { assertShown, attempt } from "../expect-refusal.ts";
import { nastyJson, nastyText } from "../hostile-text.ts";
import { mutatedText } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { TestFolder } from "../test-folder.ts";

/** A home with a run in it: a lead, a child, calls, a result. */
async function makeHome(folder: TestFolder): Promise<{ runId: string; delegationId: string }> {
  const delegate: ScriptedCall = { tool: "delegate_task", input: { profile: "helper", task: "x" } };
  const read: ScriptedCall = { tool: "list_files", input: { path: "." } };
  const engine = await openEngine({
    profiles: [testProfile("lead"), testProfile("helper")],
    model: ({ caller }) => {
      if (caller.turn > 1) return "done";
      return caller.profile === "lead" ? { calls: [read, delegate] } : { calls: [read] };
    },
  });
  const { workspace } = engine;
  const { delegationId, runId } = await engine.run({ task: "go", profile: "lead", workspace });
  await engine.close();
  cpSync(engine.home, folder.at("home"), { recursive: true });
  return { runId, delegationId };
}

/** Columns whose every change has to be found: what happened, and what was granted. */
const sealed = new Set([
  "event_batches.events",
  "event_batches.hash",
  "sub_agents.context_json",
  "sub_agents.contract_hash",
  "sub_agents.status",
]);

export const storedRows = defineTarget({
  name: "stored-rows",
  surface: "log",
  promise: "a row that somebody changed is found or refused by name, and nobody who reads it fails",
  caseMs: 6000,
  cases: 40,
  async open() {
    const folder = new TestFolder();
    const { delegationId, runId } = await makeHome(folder);
    const source = folder.at("home/mandate.db");
    const cells = cellsOf(source);
    const value = fc.oneof(
      fc.constant({ how: "null" as const }),
      fc.integer().map((number) => ({ how: "number" as const, number })),
      fc.record({ how: fc.constant("text" as const), text: nastyText }),
      fc.record({
        how: fc.constant("json" as const),
        text: nastyJson.map((each) => JSON.stringify(each)),
      }),
      fc.record({
        how: fc.constant("edit" as const),
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        text: fc.constantFrom("0", "x", '"', "}", "\0", "é", ""),
      }),
    );
    return {
      inputs: fc.record({ cell: fc.constantFrom(...cells), value }),
      async check({ cell, value: change }) {
        mkdirSync(folder.at("tampered"), { recursive: true });
        copyFileSync(source, folder.at("tampered/mandate.db"));
        cpSync(folder.at("home/artifacts"), folder.at("tampered/artifacts"), {
          recursive: true,
          force: true,
        });
        if (!tamper(folder.at("tampered/mandate.db"), cell, change)) return;
        const environment = { MANDATE_HOME: folder.at("tampered"), HOME: folder.path };
        const opened = await attempt(() => openStore({ environment, synchronous: "normal" }));
        if ("refusal" in opened) return;
        try {
          const places = {
            home: folder.at("tampered"),
            database: folder.at("tampered/mandate.db"),
          };
          const report = await attempt(() => verifyHome(opened.value, { places, settled: true }));
          if ("value" in report) {
            // As they are shown: what they quote is data.
            for (const { message } of report.value.violations) assertShown(printableLine(message));
            if (sealed.has(`${cell.table}.${cell.column}`))
              assert.equal(report.value.ok, false, "it was not noticed");
          }
          await readAll(opened.value, runId, delegationId);
        } finally {
          await opened.value.close();
          for (const end of ["", "-wal", "-shm"])
            rmSync(folder.at(`tampered/mandate.db${end}`), { force: true });
        }
      },
      close: () => folder[Symbol.dispose](),
    };
  },
});

/** As people and programs would. */
async function readAll(store: Store, runId: string, delegationId: string): Promise<void> {
  await attempt(() => store.listRuns({ limit: 10 }));
  await attempt(() => store.readRun(runId));
  await attempt(() => collect(store.readEvents({ runId })));
  for (const format of ["markdown", "jsonl"] as const) {
    const read = await attempt(() => collect(exportSession(store, delegationId, format)));
    if ("value" in read) for (const piece of read.value) assertShown(piece);
  }
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

interface Cell {
  readonly table: string;
  readonly column: string;
  readonly row: number;
}

function cellsOf(file: string): readonly Cell[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = [
      "event_batches",
      "runs",
      "sub_agents",
      "texts",
      "inbox",
      "records",
      "record_versions",
      "asks",
      "run_index",
      "meta",
    ];
    return tables.flatMap((table) => {
      const known = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?")
        .get(table);
      if (known === undefined) return [];
      const rows = database.prepare(`SELECT * FROM ${table} LIMIT 8`).all();
      return rows.flatMap((each, row) =>
        Object.keys(each).map((column) => ({ table, column, row })),
      );
    });
  } finally {
    database.close();
  }
}

type Change = {
  readonly how: string;
  readonly text?: string;
  readonly number?: number;
  readonly at?: number;
};

/** False when it would be as it was, or the database itself refuses it. */
function tamper(file: string, { column, row, table }: Cell, change: Change): boolean {
  const database = new DatabaseSync(file);
  try {
    const before = database.prepare(`SELECT * FROM ${table} LIMIT 1 OFFSET ${row}`).get();
    if (before === undefined) return false;
    const now = before[column] as SQLInputValue;
    const next = changed(now, change);
    if (next === now || String(next) === String(now)) return false;
    const keys = Object.keys(before).filter((key) => before[key] !== null);
    const where = keys.map((key) => `"${key}" = ?`).join(" AND ");
    const { changes } = database
      .prepare(`UPDATE ${table} SET "${column}" = ? WHERE ${where}`)
      .run(next, ...keys.map((key) => before[key] as SQLInputValue));
    if (changes !== 1) return false;
    const after = database.prepare(`SELECT * FROM ${table} LIMIT 1 OFFSET ${row}`).get();
    return after === undefined || after[column] !== now;
  } catch {
    return false;
  } finally {
    database.close();
  }
}

function changed(
  now: SQLInputValue,
  { at = 0, how, number = 0, text = "" }: Change,
): SQLInputValue {
  if (how === "null") return null;
  if (how === "number") return number;
  if (how !== "edit") return text;
  const old = String(now);
  const place = Math.floor(at * old.length);
  return old.slice(0, place) + text + old.slice(place + 1);
}

export const storedContracts = defineTarget({
  name: "stored-contracts",
  surface: "log",
  promise: "a stored contract is one as a whole, or none",
  cases: 300,
  open: () => ({
    inputs: mutatedText(
      [JSON.stringify(exampleContract({}))],
      [
        '"allowed_tools":["*"]',
        '"*"',
        "null",
        "true",
        "-1",
        "1e999",
        '"version":99',
        '"rules":[]',
        '"__proto__":{}',
      ],
    ),
    async check(text: string) {
      const read = await attempt(() => parseContract(text));
      if ("refusal" in read) {
        assert.match(read.refusal.code, /^contract-/);
        return;
      }
      // A contract in order says the same again.
      assert.deepEqual(parseContract(JSON.stringify(read.value)), read.value);
    },
  }),
});

export const modelWords = defineTarget({
  name: "model-words",
  surface: "log",
  promise: "whatever words and keys a model uses, the log that keeps them holds afterwards",
  caseMs: 6000,
  cases: 30,
  async open() {
    let said: readonly { readonly text: string; readonly input: unknown }[] = [];
    const engine = await openEngine({
      profiles: [testProfile("speaker")],
      model: ({ caller }) => {
        const turn = said[caller.turn - 1];
        return turn === undefined
          ? "done"
          : { text: turn.text, calls: [{ tool: "list_files", input: turn.input as never }] };
      },
      limits: { maxTokens: 9_000_000, defaultTokens: 9_000_000, runTokens: 9_000_000 },
    });
    const { database, home, workspace } = engine;
    return {
      inputs: fc.record({
        task: nastyText.filter((text) => text.trim() !== ""),
        turns: fc.array(fc.record({ text: nastyText, input: nastyJson }), { maxLength: 3 }),
      }),
      async check({ task, turns }) {
        said = turns;
        const { delegationId, runId } = await engine.run({ task, profile: "speaker", workspace });
        const report = await verifyHome(engine.store, { places: { home, database }, runId });
        assert.deepEqual(report.violations, []);
        for await (const piece of exportSession(engine.store, delegationId, "markdown"))
          assertShown(piece);
        for await (const piece of exportSession(engine.store, delegationId, "jsonl"))
          assertShown(piece);
      },
      close: () => engine[Symbol.asyncDispose](),
    };
  },
});
