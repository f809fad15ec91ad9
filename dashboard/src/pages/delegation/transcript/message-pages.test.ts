import { describe, expect, it } from "vitest";
import type { SessionEntry } from "../../../../../src/sessions/session-entry.ts";
import { firstStalePage } from "./message-pages.ts";

const page = (...items: readonly SessionEntry[]) => ({ items });
const said = { kind: "agent", at: 1, text: "hello", model: "m" } as const;
const call = { kind: "call", at: 1, callId: "1", tool: "shell", input: {}, output: "" } as const;

describe("firstStalePage", () => {
  it("is the last one, as long as nothing before it waits for its end", () => {
    expect(firstStalePage([])).toBe(0);
    expect(firstStalePage([page(said), page({ ...call, outcome: "done" }), page(said)])).toBe(2);
  });

  it("is the first one with a call or a question that is open", () => {
    expect(firstStalePage([page(said), page({ ...call, outcome: "open" }), page(said)])).toBe(1);
    const question = { kind: "question", at: 1, text: "?", answer: null } as const;
    expect(firstStalePage([page(question), page(said)])).toBe(0);
  });
});
