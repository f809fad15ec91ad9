import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { StoredRun } from "../../testing/stored-run.ts";
import { Desk } from "./desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

async function save(...texts: readonly string[]): Promise<readonly string[]> {
  const path = join(desk.home, "mandate.db");
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  const run = await StoredRun.start(store);
  const delegationId = await run.child();
  const ids: string[] = [];
  for (const text of texts) {
    const about = { runId: run.id, delegationId, lineage: [delegationId], profile: "scout" };
    const more = { tags: ["infra"], key: null, scope: "delegated", workspace: null } as const;
    const memory = { ...about, ...more, text, callId: text };
    const outcome = await store.memories.save(memory, 1000);
    if (outcome.saved) ids.push(outcome.memory.id);
  }
  await store.close();
  return ids;
}

test("memory lists what agents saved, promotes it and forgets it", async () => {
  const [first = "", second = ""] = await save("The port is 8080.", "Builds need make.");
  const listed = await desk.type(["memory"]);
  expect(listed).toMatchObject({ code: 0, err: "" });
  expect(listed.out).toBe(
    `${second}  delegated  scout  just now  #infra\n  Builds need make.\n` +
      `${first}  delegated  scout  just now  #infra\n  The port is 8080.\n`,
  );
  expect((await desk.type(["memory", "promote", first])).out).toBe(`${first} promoted\n`);
  const again = await desk.type(["memory", "promote", first, second]);
  expect(again.out).toBe(`${first} is promoted\n${second} promoted\n`);
  expect((await desk.type(["memory", "forget", first])).out).toBe(`${first} forgotten\n`);
  expect((await desk.type(["memory", "list", "port"])).err).toBe("There are no such memories.\n");
  expect((await desk.type(["memory", "list", "port", "--all"])).out).toContain("forgotten");
});

test("without any memory it says how they come to be", async () => {
  await desk.type(["run", "-q", "--playbook", desk.write("book.yaml", playbook), "go"]);
  await desk.type(["memory", "forget", await onlyMemory()]);
  expect((await desk.type(["memory"])).err).toBe(
    "There are no memories. Agents save them with memory_save.\n",
  );
});

test("verify holds memories against the log, and says in a line what is wrong with one", async () => {
  await desk.type(["run", "-q", "--playbook", desk.write("book.yaml", playbook), "go"]);
  const id = await onlyMemory();
  await desk.type(["memory", "promote", id]);
  expect((await desk.type(["verify"])).code).toBe(0);
  const database = new DatabaseSync(join(desk.home, "mandate.db"));
  database.exec("UPDATE memories SET scope = 'shared'");
  database.close();
  const { code, out } = await desk.type(["verify"]);
  expect(code).toBe(1);
  expect(out).toMatch(
    /^✗ I11 r[0-9a-f]{6} [0-9a-f]{6}: Memory m[0-9a-f]{6}: it is shared, but its contract/,
  );
});

async function onlyMemory(): Promise<string> {
  const [memory] = JSON.parse((await desk.type(["memory", "--json"])).out);
  return memory.id;
}

const playbook = `
version: 1
replies:
  - when: { turn: 1, last: "note it" }
    calls: [{ tool: memory_save, input: { text: "The port is 8080." } }]
  - when: { turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: general, task: "note it" } }]
  - text: "done"
`;

test("memory show has where it came from and all of the text, without what a terminal obeys", async () => {
  const [id = ""] = await save("one\u009b2J\ntwo");
  const { code, out } = await desk.type(["memory", "show", id]);
  expect(code).toBe(0);
  expect(out).toContain("saved by   scout ");
  expect(out).toContain("workspace  none: for every workspace");
  expect(out).toMatch(/\n {2}one2?J?\n {2}two\n$/);
  expect(out).not.toContain("\u009b");
  const json = JSON.parse((await desk.type(["memory", "show", "--json", id])).out);
  expect(json).toMatchObject({ id, scope: "delegated", promoted: null });
});

test("memory says what it takes where that is not what was typed", async () => {
  for (const [words, sentence] of [
    [["lsit"], 'memory knows list, show, promote, forget; it does not know "lsit"'],
    [["show"], "show takes the id of one memory"],
    [["forget"], "forget takes the ids of memories"],
    [["promote", "m000000"], 'There is no memory "m000000"'],
    [["constructor"], "it does not know"],
  ] as const) {
    const { code, err } = await desk.type(["memory", ...words]);
    expect(code).toBe(2);
    expect(err).toContain(sentence);
  }
  expect(JSON.parse((await desk.type(["memory", "--json"])).out)).toEqual([]);
});
