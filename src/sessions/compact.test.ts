import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../ports/model.ts";
import { compact } from "./compact.ts";

const text = fc.string({ maxLength: 600 });
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant("user" as const), text }),
  fc.record({ role: fc.constant("assistant" as const), text, calls: fc.constant([]) }),
  fc.record({
    role: fc.constant("tool" as const),
    callId: fc.string(),
    tool: fc.string(),
    text,
    isError: fc.boolean(),
  }),
);
const conversation = fc.array(message, { maxLength: 20 });

describe("compact", () => {
  it("cuts only what tools said earlier, and keeps who said what in which order", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const short = compact(messages);
        expect(short).toHaveLength(messages.length);
        for (const [index, before] of messages.entries()) {
          const after = short[index];
          const isRecent = index >= messages.length - 6;
          if (before.role !== "tool" || isRecent || before.text.length <= 200) {
            expect(after).toBe(before);
          } else {
            expect(after).toMatchObject({ role: "tool", callId: before.callId });
            expect(after?.text.startsWith(before.text.slice(0, 200))).toBe(true);
            expect(after?.text).toContain("shortened");
            expect(after?.text.length).toBeLessThan(300);
          }
        }
      }),
    );
  });

  it("changes nothing the second time, and never what it was given", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const before = structuredClone(messages);
        const once = compact(messages);
        expect(compact(once)).toEqual(once);
        expect(messages).toEqual(before);
      }),
    );
  });
});
