import fc from "fast-check";
import { expect, it } from "vitest";
import { exportName, isOver, shownSession } from "./session-status.ts";

it("names a file by its session, whatever the title says", () => {
  expect(exportName("Fix the harbour lights!", "123456", "markdown")).toBe(
    "fix-the-harbour-lights-123456.md",
  );
  expect(exportName("../../etc/passwd", "123456", "jsonl")).toBe("etc-passwd-123456.jsonl");
  expect(exportName("\u202e灯台", "123456", "jsonl")).toBe("session-123456.jsonl");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (title) => {
      expect(exportName(title, "123456", "markdown")).toMatch(/^[a-z0-9][a-z0-9-]*-123456\.md$/);
    }),
  );
});

it("lets go on what has ended, and nothing else", () => {
  expect((["completed", "failed", "timeout", "cancelled"] as const).every(isOver)).toBe(true);
  expect((["created", "running", "interrupted", "unreadable"] as const).some(isOver)).toBe(false);
  expect(shownSession("timeout")).toBe("timed-out");
});

it("asks as long as it is worked on", () => {
  expect(shownSession("running", true)).toBe("asking");
  expect(shownSession("running")).toBe("running");
  // Its question is still open, and nobody is there to hear the answer.
  expect(shownSession("interrupted", true)).toBe("interrupted");
  expect(shownSession("cancelled", true)).toBe("cancelled");
});
