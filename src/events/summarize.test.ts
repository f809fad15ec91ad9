import { describe, expect, it } from "vitest";
import { eventTypes, examplePayloads, stored } from "./example-events.test-support.ts";
import { isEventType, summarize } from "./summarize.ts";

/** The value with every text in it replaced by a page of lines. */
function withLongTexts(value: unknown): unknown {
  if (typeof value === "string") return "many words\nover  many\tlines ".repeat(500);
  if (Array.isArray(value)) return value.map(withLongTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withLongTexts(inner)]),
  );
}

describe("a summary", () => {
  it("is one line of every type of event", () => {
    for (const type of eventTypes) {
      const line = summarize(stored(type));
      expect(line, type).not.toBe("");
      expect(line, type).not.toMatch(/[\n\r]|undefined|null|\[object/);
    }
  });

  it("stays one short line whatever somebody wrote", () => {
    const ofPeople = eventTypes.filter((type) => {
      const texts = Object.keys(examplePayloads[type]);
      return texts.some((name) =>
        [
          "task",
          "output",
          "error",
          "question",
          "answer",
          "reason",
          "message",
          "text",
          "title",
          "command",
        ].includes(name),
      );
    });
    expect(ofPeople.length).toBeGreaterThan(10);
    for (const type of ofPeople) {
      const payload = Object.fromEntries(
        Object.entries(examplePayloads[type]).map(([name, value]) =>
          /^(task|output|error|question|answer|reason|message|text|title|command)$/.test(name)
            ? [name, withLongTexts(value)]
            : [name, value],
        ),
      );
      const line = summarize(stored(type, payload));
      expect(line, type).not.toContain("\n");
      expect(line.length, type).toBeLessThan(200);
    }
  });

  it("says what matters", () => {
    expect(summarize(stored("agent.subagent_closed"))).toBe("closed failed (timed out)");
    expect(
      summarize(stored("agent.model_turn", { calls: [{ id: "1", name: "grep", input: {} }] })),
    ).toBe("m/m answered: calls grep");
    const conflict = stored("agent.worktree_merged", { conflicted_files: ["a", "b"] });
    expect(summarize(conflict)).toBe("merge conflict in a, b");
    expect(summarize(stored("agent.answered", { by: "expired", answer: null }))).toBe(
      "no answer in time",
    );
    expect(summarize(stored("agent.budget_settled", { estimated: true }))).toBe(
      "used ≤ 5 tokens (estimate)",
    );
    expect(summarize(stored("agent.budget_settled", { overrun: true, reserved: 3 }))).toBe(
      "used 5 tokens, 2 more than reserved",
    );
    expect(summarize(stored("agent.budget_corrected"))).toBe(
      "used 4 tokens, as reported later (was ≤ 5)",
    );
    expect(summarize(stored("agent.skills_clamped"))).toBe("skills clamped to none");
  });

  it("calls who was stopped cancelled, not failed", () => {
    const close_reason = "cancelled";
    expect(
      [
        stored("agent.subagent_failed", { code: "cancelled", error: "enough" }),
        stored("agent.subagent_closed", { final_status: "failed", close_reason }),
        stored("run.finished", { outcome: "cancelled", reason: "cancelled: enough" }),
      ].map(summarize),
    ).toEqual(["cancelled: enough", "closed (cancelled)", "run cancelled: enough"]);
  });
});

describe("isEventType", () => {
  it("knows the types and nothing else", () => {
    for (const type of eventTypes) expect(isEventType(type)).toBe(true);
    for (const word of ["", "agent.", "toString", "__proto__", "agent.subagent_exploded"]) {
      expect(isEventType(word)).toBe(false);
    }
  });
});
