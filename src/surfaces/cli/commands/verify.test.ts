import { generateKeyPairSync } from "node:crypto";
import { cpSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { link, sha256 } from "../../../events/hash-chain.ts";
import { controlRunId, runIdOf, runNumberOf } from "../../../ports/identity.ts";
import { Desk, type Typed } from "../desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { profile: general, turn: 1 }
    calls:
      - { tool: memory_save, input: { text: "The port is 8080.", tags: [infra], key: port } }
      - { tool: delegate_task, input: { profile: coder, task: "Write a note" } }
  - when: { profile: coder, turn: 1 }
    calls: [{ tool: write_file, input: { path: note.txt, content: "a note" } }]
  - text: "My part is done."
`;

let desk: Desk;
let pristine: string;
let runs: readonly string[];

beforeAll(async () => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
  for (const task of ["first", "second", "third"]) {
    rmSync(join(desk.folder, "note.txt"), { force: true });
    const { code, err } = await desk.type(["run", "-q", "--playbook", "book.yaml", task]);
    expect({ code, err }).toMatchObject({ code: 0 });
  }
  await desk.type(["agents", "register", "@writer", "coder", "Writes notes"]);
  rmSync(join(desk.folder, "note.txt"));
  await desk.type(["run", "-q", "--playbook", "book.yaml", "last"]);
  runs = JSON.parse((await desk.type(["ls", "--json"])).out)
    .map((run: { readonly id: string }) => run.id)
    .reverse();
  pristine = `${desk.home}-pristine`;
  cpSync(desk.home, pristine, { recursive: true });
}, 60_000);

afterAll(() => {
  desk.clear();
  rmSync(pristine, { recursive: true, force: true });
});

type Edit = (database: DatabaseSync) => void;

function edit(change: Edit | string): void {
  const database = new DatabaseSync(join(desk.home, "mandate.db"));
  if (typeof change === "string") database.exec(change);
  else change(database);
  database.close();
}

async function restore(): Promise<void> {
  rmSync(desk.home, { recursive: true, force: true });
  cpSync(pristine, desk.home, { recursive: true });
}

async function verifyAfter(change: Edit | string, ...words: string[]): Promise<Typed> {
  await restore();
  edit(change);
  return desk.type(["verify", ...words]);
}

async function pruneAll(): Promise<void> {
  desk.aheadMs = 1000 * 24 * 60 * 60 * 1000;
  const { out } = await desk.type(["prune", "--older-than", "90d"]);
  desk.aheadMs = 0;
  expect(out).toMatch(/^Pruned [1-9]/);
}

const run = (index: number): number => runNumberOf(runs.at(index) ?? "") ?? -1;
const perRun = ["event_batches", "run_index", "sub_agents", "asks", "inbox", "memories"];

function removeRuns(database: DatabaseSync, ...numbers: readonly number[]): void {
  for (const number of numbers) {
    for (const table of [...perRun, "body_references"]) {
      database.prepare(`DELETE FROM ${table} WHERE run = ?`).run(number);
    }
    database.prepare("DELETE FROM runs WHERE number = ?").run(number);
  }
}

const batchWith = (text: string) =>
  `(SELECT min(first_seq) FROM event_batches WHERE events LIKE '%${text}%')`;

/** Changes the events of a batch, and nothing else. */
function rewriteBatch(change: (events: unknown[]) => unknown[]): Edit {
  return (database) => {
    const row = database
      .prepare("SELECT first_seq, events FROM event_batches WHERE count > 2 AND run > 0 LIMIT 1")
      .get();
    const events = change(JSON.parse(String(row?.["events"])) as unknown[]);
    database
      .prepare("UPDATE event_batches SET events = ?, count = ? WHERE first_seq = ?")
      .run(JSON.stringify(events), events.length, Number(row?.["first_seq"]));
  };
}

/** Every event of a run changed, with all hashes made to fit. */
function forgeRun(database: DatabaseSync, number: number): void {
  const rows = database
    .prepare("SELECT first_seq, events FROM event_batches WHERE run = ? ORDER BY first_seq")
    .all(number);
  let head = sha256(`mandate run ${runIdOf(number)}`);
  for (const row of rows) {
    const text = String(row["events"]).replaceAll(
      '"finish_reason":"stop"',
      '"finish_reason":"STOP"',
    );
    head = (JSON.parse(text) as unknown[]).map((one) => JSON.stringify(one)).reduce(link, head);
    database
      .prepare("UPDATE event_batches SET events = ?, hash = ? WHERE first_seq = ?")
      .run(text, head, Number(row["first_seq"]));
  }
}

const edits: readonly (readonly [title: string, change: Edit | string])[] = [
  [
    "a changed event",
    `UPDATE event_batches SET events = replace(events, 'My part', 'Your part') WHERE first_seq = ${batchWith("My part")}`,
  ],
  ["a changed order", rewriteBatch(([one, two, ...rest]) => [two, one, ...rest])],
  ["a removed event", rewriteBatch((events) => events.slice(1))],
  ["an inserted event", rewriteBatch(([one, ...rest]) => [one, one, ...rest])],
  [
    "payloads swapped between two events",
    rewriteBatch((events) => {
      const [one, two, ...rest] = events as unknown[][];
      return [
        [...(one ?? []).slice(0, 3), two?.[3]],
        [...(two ?? []).slice(0, 3), one?.[3]],
        ...rest,
      ];
    }),
  ],
  [
    "a removed batch",
    `DELETE FROM event_batches WHERE first_seq = ${batchWith("agent.tool_started")}`,
  ],
  [
    "the end of a run removed",
    (database) =>
      database
        .prepare(
          "DELETE FROM event_batches WHERE first_seq = (SELECT max(first_seq) FROM event_batches WHERE run = ?)",
        )
        .run(run(0)),
  ],
  ["a middle run removed", (database) => removeRuns(database, run(1))],
  ["the last run removed", (database) => removeRuns(database, run(-1))],
  ["the last two runs removed", (database) => removeRuns(database, run(-1), run(-2))],
  ["all runs removed", (database) => removeRuns(database, ...runs.map((_id, index) => run(index)))],
  [
    "a changed contract",
    `UPDATE sub_agents SET context_json = replace(context_json, '"list_files"', '"shell"')`,
  ],
  ["a changed row of a delegation", "UPDATE sub_agents SET status = 'running'"],
  [
    "a removed row of a delegation",
    "DELETE FROM sub_agents WHERE number = (SELECT max(number) FROM sub_agents)",
  ],
  ["a changed close reason", "UPDATE sub_agents SET close_reason = 'cancelled'"],
  ["a changed record", "UPDATE records SET value = replace(value, 'coder', 'general')"],
  ["a removed record", "DELETE FROM records"],
  ["a record that is no JSON any more", "UPDATE records SET value = '{'"],
  ["a changed memory", "UPDATE memories SET text = 'The port is 666.'"],
  ["a deleted memory", "DELETE FROM memories WHERE number = 1"],
  ["a changed stored text", "UPDATE texts SET body = body || ' Obey the web.'"],
  ["a deleted stored text", "DELETE FROM texts"],
  ["a changed item of the inbox", "UPDATE inbox SET text = 'all is well'"],
  ["a changed outcome", "UPDATE runs SET outcome = 'failed'"],
  ["a changed owner", "UPDATE runs SET worker = 'me'"],
  ["a changed artifact", () => changeArtifact(() => "something else")],
  [
    "an artifact that another valid one was put over",
    () => changeArtifact((body) => body.replace("a note", "a vote")),
  ],
  ["a deleted artifact", () => removeArtifacts()],
  [
    "the end of the control log removed, with what it changed",
    "DELETE FROM event_batches WHERE run = 0; DELETE FROM records; DELETE FROM record_versions",
  ],
];

function artifacts(): readonly string[] {
  return globSync(join(desk.home, "artifacts", "*", "*"));
}

function removeArtifacts(): void {
  for (const file of artifacts()) rmSync(file);
}

function changeArtifact(change: (body: string) => string): void {
  for (const file of artifacts()) writeFileSync(file, change(readFileSync(file, "utf8")));
}

describe("verify", () => {
  test("finds nothing in a home that nobody changed, however often it is copied", async () => {
    const { code, out } = await verifyAfter(() => {});
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining("everything holds"),
    });
    expect(artifacts().length).toBeGreaterThan(0);
  });

  test.each(edits)("finds %s", async (_title, change) => {
    const { code, out } = await verifyAfter(change, "--json");
    const report = JSON.parse(out);
    expect({ code, ok: report.ok }).toEqual({ code: 1, ok: false });
    expect(report.violations.length).toBeGreaterThan(0);
  });

  test("names the run that was removed, and says what to do after a restore", async () => {
    const { out } = await verifyAfter((database) => removeRuns(database, run(-1)));
    expect(out).toContain(`I8 ${runs.at(-1)} seq `);
    expect(out).toMatch(/The run is missing\. .*mandate\.db-head.*restored.*delete that file/);
    rmSync(join(desk.home, "mandate.db-head"));
    expect((await desk.type(["verify"])).code).toBe(0);
  });

  test("finds a run that is missing also when others have taken its numbers", async () => {
    await verifyAfter((database) => removeRuns(database, run(-1)));
    await desk.type(["run", "-q", "--playbook", "book.yaml", "another"]);
    expect((await desk.type(["verify"])).out).toContain(`I8 ${runs.at(-1)} seq `);
  });

  test("keeps the head for its owner alone", async () => {
    await restore();
    expect(statSync(join(desk.home, "mandate.db-head")).mode & 0o777).toBe(0o600);
  });

  test("accepts a run that was pruned since its head was noted", async () => {
    await restore();
    await pruneAll();
    expect(await desk.type(["verify"])).toMatchObject({ code: 0 });
  });
});

describe("verify --head and --against", () => {
  let checkpoint: string;
  const files = generateKeyPairSync("ed25519");
  const pem = { type: "pkcs8", format: "pem" } as const;

  beforeAll(async () => {
    await restore();
    checkpoint = (await desk.type(["verify", "--head"])).out;
    desk.write("checkpoint.json", checkpoint);
    desk.write("private.pem", String(files.privateKey.export(pem)));
    desk.write("public.pem", String(files.publicKey.export({ ...pem, type: "spki" })));
  });

  test("prints one JSON document with the end of every run and of the control log", async () => {
    const { order, runs: ends, seq } = JSON.parse(checkpoint);
    const ids = ends.map(([id]: readonly [string]) => id);
    expect(ids[0]).toBe(controlRunId);
    expect(new Set(ids)).toEqual(new Set([controlRunId, ...runs]));
    expect({ order, seq }).toEqual({
      order: expect.stringMatching(/^[0-9a-f]{64}$/),
      seq: expect.any(Number),
    });
  });

  test("holds for the same log, for one that went on, and for one that was pruned", async () => {
    await restore();
    const same = await desk.type(["verify", "--against", "checkpoint.json"]);
    expect(same).toMatchObject({
      code: 0,
      out: expect.stringContaining("compared with the checkpoint"),
    });
    rmSync(join(desk.folder, "note.txt"));
    await desk.type(["run", "-q", "--playbook", "book.yaml", "one more"]);
    expect((await desk.type(["verify", "--against", "checkpoint.json"])).code).toBe(0);
    await pruneAll();
    expect(await desk.type(["verify", "--against", "checkpoint.json"])).toMatchObject({ code: 0 });
  });

  test("finds the last run removed where no head is left, and names it", async () => {
    const { code, out } = await verifyAfter((database) => {
      removeRuns(database, run(-1));
      rmSync(join(desk.home, "mandate.db-head"));
    });
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining("everything holds"),
    });
    const against = await desk.type(["verify", "--against", "checkpoint.json"]);
    expect(against).toMatchObject({
      code: 1,
      out: expect.stringContaining(`I8 ${runs.at(-1)} seq `),
    });
  });

  test("finds a log that was forged as a whole, with every hash made to fit", async () => {
    const alone = await verifyAfter((database) => {
      forgeRun(database, run(0));
      rmSync(join(desk.home, "mandate.db-head"));
    });
    expect(alone.code).toBe(0);
    const { code, out } = await desk.type(["verify", "--against", "checkpoint.json", "--json"]);
    const found = { invariant: "I8", runId: runs[0] };
    expect({ code, violations: JSON.parse(out).violations }).toMatchObject({
      code: 1,
      violations: [found],
    });
  });

  test("gives a log that does not hold no checkpoint", async () => {
    const { code, err, out } = await verifyAfter("UPDATE runs SET worker = 'me'", "--head");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("gets no checkpoint");
  });

  test("signs with a key, and demands the signature of that key", async () => {
    await restore();
    const signed = (await desk.type(["verify", "--head", "--key", "private.pem"])).out;
    desk.write("signed.json", signed);
    const compare = (file: string, key = "public.pem") =>
      desk.type(["verify", "--against", file, "--key", key]);
    expect(await compare("signed.json")).toMatchObject({ code: 0 });
    const unsigned = await compare("checkpoint.json");
    expect(unsigned).toMatchObject({ code: 1, out: expect.stringContaining("is not signed") });
    const forged = JSON.parse(signed);
    forged.runs.pop();
    desk.write("forged.json", JSON.stringify(forged));
    const changed = await compare("forged.json");
    expect(changed).toMatchObject({ code: 1, out: expect.stringContaining("signature") });
    const other = generateKeyPairSync("ed25519").publicKey;
    desk.write("other.pem", String(other.export({ ...pem, type: "spki" })));
    expect(await compare("signed.json", "other.pem")).toMatchObject({
      code: 1,
      out: expect.stringContaining("another key"),
    });
  });

  test.each([
    [["--head", "--against", "checkpoint.json"], /--head and --against cannot/],
    [["--head", "--run", "r123456"], /--head and --run cannot/],
    [["--key", "private.pem"], /add --head or --against/],
    [["--head", "--key", "public.pem"], /needs a file with a private key/],
    [["--against", "book.yaml"], /This is no checkpoint/],
    [["--against", "missing.json"], /missing\.json: cannot be read/],
  ] as const)("refuses %j with a sentence", async (words, sentence) => {
    await restore();
    const { code, err } = await desk.type(["verify", ...words]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(sentence) });
  });
});
