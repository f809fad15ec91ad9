import { describe, expect, it } from "vitest";
import { addressOf, noticesIn, type ShownItem, tellDeadline, tellDefault } from "./inbox-item.ts";

const item = (id: number, more: Partial<ShownItem> = {}): ShownItem => ({
  id,
  at: id,
  runId: "r123456",
  kind: "finished",
  severity: "info",
  title: `item ${id}`,
  startedBy: "ann",
  text: "",
  ...more,
});

describe("items of the inbox", () => {
  it("are told once for each question: as a card while it is open, then by their answer", () => {
    const ask = { id: "q1", deadlineAt: 1, default: null };
    const asked = [item(3, { kind: "answer" }), item(2, { kind: "ask", ask, isOpen: false })];
    const open = item(4, { kind: "approval", ask, isOpen: true });
    expect(noticesIn([open, ...asked, item(1)]).map(({ id }) => id)).toEqual([3, 1]);
  });

  it("lead to whom they are about, or to the run", () => {
    expect(addressOf(item(1, { delegationId: "123456" }))).toBe("/delegations/123456");
    expect(addressOf(item(1))).toBe("/runs/r123456");
  });
});

describe("a deadline", () => {
  it("is told in whole seconds, and warns in its last minute", () => {
    const left = (ms: number) => tellDeadline(1_000_000_000 + ms, 1_000_000_000);
    expect(left(65_000)).toEqual({ text: "1:05 left", isNear: false });
    expect(left(59_001)).toEqual({ text: "1:00 left", isNear: true });
    expect(left(1)).toEqual({ text: "0:01 left", isNear: true });
    expect(left(3_661_000)).toEqual({ text: "1:01:01 left", isNear: false });
    expect(left(90_000_000)).toEqual({ text: "1 d 1 h left", isNear: false });
    for (const over of [0, -1, -1e12]) expect(left(over).text).toBe("Deadline passed");
  });

  it("says what happens then", () => {
    expect(tellDefault(true, null)).toMatch(/^Rejected/);
    expect(tellDefault(false, null)).toMatch(/without an answer/);
    expect(tellDefault(false, "kind")).toBe("Answer at the deadline:");
  });
});
