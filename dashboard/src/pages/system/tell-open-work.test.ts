import { expect, it } from "vitest";
import { tellOpenWork } from "./tell-open-work.ts";

it("counts what is open by what it waits on", () => {
  const on = (word: "slot" | "model") => ({ isInterrupted: false, waitingOn: { on: word } });
  const gone = { isInterrupted: true, waitingOn: { on: "model" as const } };
  expect(tellOpenWork([on("model"), on("slot"), on("slot"), gone])).toEqual([
    { words: "Queued", count: 2 },
    { words: "Waiting for a model", count: 1 },
    { words: "Interrupted", count: 1 },
  ]);
  expect(tellOpenWork([])).toEqual([]);
});
