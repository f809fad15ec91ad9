import { afterEach, beforeEach, expect, it } from "vitest";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { until } from "../../testing/until.ts";
import { PostgresStore } from "./postgres-store.ts";

let url: string;
const stores: PostgresStore[] = [];

beforeEach(async () => {
  url = await freshDatabase();
}, 60_000);

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await dropDatabase(url);
});

async function open(tenant?: string): Promise<PostgresStore> {
  const store = await PostgresStore.open({ url, ...(tenant !== undefined && { tenant }) });
  stores.push(store);
  return store;
}

/** The text of each delegation as one process hears it. */
function hearing(store: PostgresStore) {
  const heard = new Map<string, string>();
  const stop = store.liveText.subscribe((id, text) => heard.set(id, (heard.get(id) ?? "") + text));
  return { heard, stop };
}

/** Publishes single words until one was heard: from then on the listener is known. */
async function connect(from: PostgresStore, heard: ReadonlyMap<string, string>): Promise<void> {
  await until("the first word", () => {
    from.liveText.publish("000000", ".");
    return heard.has("000000");
  });
}

it("reaches the processes that listen, in order, and not its own", async () => {
  const [worker, page] = [await open(), await open()];
  const [own, { heard }] = [hearing(worker), hearing(page)];
  await connect(worker, heard);
  const words = Array.from({ length: 50 }, (_, index) => `word ${index} «ü» \u0000\ud800 `);
  for (const word of words) worker.liveText.publish("aaaaaa", word);
  worker.liveText.publish("bbbbbb", "other");
  await until("all of it", () => heard.has("bbbbbb"));
  expect(heard.get("aaaaaa")).toBe(words.join(""));
  expect(own.heard.size).toBe(0);
});

it("drops what is too much at once, and continues after that", async () => {
  const [worker, page] = [await open(), await open()];
  const { heard } = hearing(page);
  await connect(worker, heard);
  worker.liveText.publish("aaaaaa", "\u0001".repeat(5_000_000));
  worker.liveText.publish("bbbbbb", "never sent");
  await until("a part of it", () => heard.has("aaaaaa"));
  expect(heard.get("aaaaaa")?.length).toBeLessThan(40_000);
  expect(heard.has("bbbbbb")).toBe(false);
  await until("later text", () => {
    worker.liveText.publish("cccccc", "again");
    return heard.has("cccccc");
  });
});

it("sends nothing where nothing listens, or to another tenant", async () => {
  const [worker, other] = [await open(), await open("other")];
  const { heard } = hearing(other);
  worker.liveText.publish("aaaaaa", "secret");
  const page = await open();
  const own = hearing(page);
  await connect(worker, own.heard);
  expect(own.heard.has("aaaaaa")).toBe(false);
  expect(heard.size).toBe(0);
});

it("takes announcements and text of any form from any role", async () => {
  const [worker, page] = [await open(), await open()];
  const { heard } = hearing(page);
  await connect(worker, heard);
  const channels = [...page.liveText.channels, ...worker.liveText.channels];
  for (const channel of channels) {
    for (const payload of ["", "x".repeat(7000), "[[1,2]]", "f".repeat(32), "{", "null"]) {
      await execute(url, `SELECT pg_catalog.pg_notify('${channel}', '${payload}')`);
    }
  }
  worker.liveText.publish("aaaaaa", "still here");
  await until("the next text", () => heard.get("aaaaaa") === "still here");
  expect([...heard.keys()].sort()).toEqual(["000000", "aaaaaa"]);
});
