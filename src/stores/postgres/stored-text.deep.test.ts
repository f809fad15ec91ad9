import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sha256 } from "../../events/hash-chain.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { assertSound, change, note, StoredRun } from "../../testing/stored-run.ts";
import { PostgresStore } from "./postgres-store.ts";
import { decodeRow, encodeText } from "./stored-text.ts";

const needsEscape = [
  "\u0000",
  "a\u0000b\u0000",
  "\ud800",
  "\udc00x",
  "\uf8fe0000",
  "\uf8fe",
  "😀\ud83d",
];

describe("a text that Postgres does not keep", () => {
  it("is written so that it is the same when it is read", () => {
    const text = fc.string({ unit: "binary" });
    const units = fc
      .array(fc.integer({ min: 0, max: 0xffff }))
      .map((codes) => String.fromCharCode(...codes));
    fc.assert(
      fc.property(fc.oneof(text, units, fc.constantFrom(...needsEscape)), (one) => {
        const stored = encodeText(one);
        expect(stored.isWellFormed()).toBe(true);
        expect(stored).not.toContain("\u0000");
        expect(decodeRow({ stored })).toEqual({ stored: one });
      }),
      { numRuns: cases(2000) },
    );
    expect(encodeText("as it is: äöü 😀 \n\t\\")).toBe("as it is: äöü 😀 \n\t\\");
  });

  describe("and a store", () => {
    let url: string;
    let store: PostgresStore;

    beforeAll(async () => {
      url = await freshDatabase();
      store = await PostgresStore.open({ url });
    });

    afterAll(async () => {
      await store.close();
      await dropDatabase(url);
    });

    it.each(needsEscape)(
      "is kept in every place where people and models write: %j",
      async (text) => {
        const run = await StoredRun.start(store, text, text);
        const id = await run.child();
        await run.append(note(id, text));
        await store.changeRecords([change(`r${needsEscape.indexOf(text)}`, 0, { text })], "ann");
        const hash = store.keepText(text);
        await run.child();
        expect(await store.readText(hash)).toBe(text);
        const { hash: kept } = await store.keepArtifact(text);
        expect(kept).toBe(sha256(text));
        const [row] = await store.listRuns({ application: text });
        expect([row?.id, row?.application, row?.workspace]).toEqual([run.id, text, text]);
        const saved = await store.memories.save(
          {
            ...{ text, tags: [text], key: text, scope: "shared", workspace: text, profile: text },
            ...{ runId: run.id, delegationId: id, callId: text, lineage: [id] },
          },
          10,
        );
        expect(saved).toMatchObject({ saved: true, memory: { text, tags: [text], key: text } });
        const near = { runId: run.id, workspace: text, formerly: [] };
        const found = await store.memories.find({ near, tags: [text], limit: 10 });
        expect(found.map((memory) => memory.text)).toEqual([text]);
        expect(await store.moveCursor(text, 0)).toBe(0);
        expect(await store.readCursor(text)).toBe(0);
        const request = { principal: text, key: text, fingerprint: text };
        expect(await store.idempotency.begin(request, 0)).toEqual({ is: "begun" });
        await store.idempotency.finish(request, { status: 200, body: text });
        const reply = { status: 200, body: text };
        expect(await store.idempotency.begin(request, 0)).toEqual({ is: "finished", reply });
        expect(await store.readRecord("policy", text)).toBeUndefined();
        expect(await store.listRecords("policy", text)).toEqual([]);
        expect(await store.isWorkerAlive(text)).toBe(false);
        await assertSound(store);
      },
    );

    it("is kept as a body too, to the letter", async () => {
      for (const text of needsEscape) {
        // Two bodies whose UTF-8 is the same have the same name.
        const body = `${text} ${needsEscape.indexOf(text)}`;
        const { hash } = await store.keepArtifact(body);
        expect(await store.readArtifact(hash)).toBe(body);
      }
    });
  });
});
