import { expect, it } from "vitest";
import type { Store } from "../../ports/store.ts";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { StoredRun } from "../../testing/stored-run.ts";
import type { EngineParts } from "../engine-parts.ts";
import { reenqueueOrphans } from "./distributed-runs.ts";

it("looks at the oldest open runs too, however many there are", async () => {
  const store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  const runs = await Promise.all(Array.from({ length: 2100 }, () => StoredRun.start(store)));
  const looked = new Set<string>();
  const { readRun } = store;
  store.readRun = (id) => {
    looked.add(id);
    return readRun.call(store, id);
  };
  await reenqueueOrphans({ store: store as Store } as EngineParts);
  expect(looked).toEqual(new Set(runs.map(({ id }) => id)));
  await store.close();
});
