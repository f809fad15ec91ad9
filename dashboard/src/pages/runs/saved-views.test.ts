import { expect, it } from "vitest";
import { readViews, writeViews } from "./saved-views.ts";

const storageOf = (text: string | null) => ({ getItem: () => text });

it("Saved views come back as they were written, and damaged storage is no view", () => {
  const written: string[] = [];
  const views = [{ name: "Mine", query: "startedBy=ann&show=failed" }];
  writeViews(views, { setItem: (_key, text) => void written.push(text) });
  expect(readViews(storageOf(written[0] ?? null))).toEqual(views);
  for (const text of [null, "", "{", "null", '"x"', "[1]", '[{"name":""}]', '[{"name":"x"}]']) {
    expect(readViews(storageOf(text)), String(text)).toEqual([]);
  }
  const many = Array.from({ length: 50 }, (_, number) => ({ name: `v${number}`, query: "" }));
  expect(readViews(storageOf(JSON.stringify(many)))).toHaveLength(30);
  writeViews(views, {
    setItem: () => {
      throw new Error("full");
    },
  });
});
