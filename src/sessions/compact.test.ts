import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../ports/model.ts";
import {
  chooseShortening,
  type Shortening,
  shorten,
  shortenAsBefore,
  sizeOfAll,
} from "./compact.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 600 }),
  fc.nat(30_000).map((length) => "word ".repeat(length / 5)),
);
const input = fc.oneof(
  fc.record({ path: fc.string({ maxLength: 20 }), content: text }),
  fc.dictionary(fc.string({ maxLength: 9 }), fc.jsonValue()),
  fc.jsonValue(),
);
const calls = fc
  .array(fc.record({ name: fc.constantFrom("read_file", "write_file"), input }), { maxLength: 3 })
  .map((made) => made.map((call, index) => ({ id: `c${index}`, ...call })));

/** A turn with the results of its calls, and perhaps a remark after it. */
const turn: fc.Arbitrary<Message[]> = fc
  .record({ text, calls, results: fc.array(text), remark: fc.option(text), signed: fc.boolean() })
  .map(({ text: said, calls: made, results, remark, signed }) => [
    {
      role: "assistant" as const,
      text: said,
      calls: made,
      ...(signed && { providerData: { model: "a/b", fragments: [] } }),
    },
    ...made.map(({ id, name }, index) => ({
      role: "tool" as const,
      callId: id,
      tool: name,
      text: results[index] ?? "",
      isError: false,
    })),
    ...(remark === null ? [] : [{ role: "user" as const, text: remark }]),
  ]);

const conversation = fc
  .tuple(text, fc.array(turn, { maxLength: 8 }))
  .map(([task, turns]): Message[] => [{ role: "user", text: task }, ...turns.flat()]);
const shortening: fc.Arbitrary<Shortening> = fc.record(
  {
    keep: fc.nat(4),
    old: fc.nat(9000),
    recent: fc.nat(9000),
    said: fc.integer({ min: 100, max: 900 }),
    turns: fc.integer({ min: 1, max: 5 }),
  },
  { requiredKeys: ["keep", "old"] },
);

/** Each call has its result after it, before anything else is said. */
function isPaired(messages: readonly Message[]): boolean {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (open.shift() !== message.callId) return false;
    } else if (open.length > 0) return false;
    if (message.role === "assistant") open = message.calls.map(({ id }) => id);
  }
  return open.length === 0;
}

function lastTurn(messages: readonly Message[]): readonly Message[] {
  const start = messages.findLastIndex(({ role }) => role === "assistant");
  return start < 0 ? [] : messages.slice(start);
}

describe("a shortened conversation", () => {
  it("keeps the task, the latest turn, what the user said last, and a result for every call", () => {
    fc.assert(
      fc.property(conversation, shortening, (messages, by) => {
        const before = structuredClone(messages);
        const short = shorten(messages, by);
        expect(messages).toEqual(before);
        expect(short[0]).toBe(messages[0]);
        expect(isPaired(short)).toBe(true);
        expect(lastTurn(short).length).toBe(lastTurn(messages).length);
        const said = messages.findLast(({ role }) => role === "user");
        expect(short).toContain(said);
        expect(sizeOfAll(short)).toBeLessThanOrEqual(sizeOfAll(messages) + 80);
      }),
    );
  });

  it("leaves recent turns alone, and answers that carry their provider's data", () => {
    fc.assert(
      fc.property(conversation, fc.nat(4), (messages, keep) => {
        const short = shorten(messages, { keep, old: 0, said: 0 });
        let recent = messages.length;
        for (let left = keep; left > 0 && recent > 0; )
          if (messages[--recent]?.role === "assistant") left--;
        for (const [index, message] of messages.entries()) {
          const isSigned = message.role === "assistant" && message.providerData !== undefined;
          if (index >= recent || isSigned) expect(short[index]).toBe(message);
        }
      }),
    );
  });

  it("is the same when it is shortened in the same way again", () => {
    fc.assert(
      fc.property(conversation, shortening, (messages, by) => {
        const once = shorten(messages, by);
        expect(shorten(once, by)).toEqual(once);
      }),
    );
  });

  it("has no half characters that were not there before", () => {
    const face = "😀".repeat(2000);
    const messages: Message[] = [
      { role: "user", text: "go" },
      { role: "assistant", text: `a${face}`, calls: [{ id: "c", name: "t", input: { a: face } }] },
      { role: "tool", callId: "c", tool: "t", text: `a${face}`, isError: false },
    ];
    for (const length of [200, 201, 499, 500]) {
      const short = shorten(messages, { keep: 0, old: length, said: length });
      expect(JSON.stringify(short).isWellFormed()).toBe(true);
      expect(JSON.stringify(short)).not.toMatch(/\\ud8/);
      expect(sizeOfAll(short)).toBeLessThan(8 * length + 600);
    }
  });

  it("says where the whole output is, when the output itself said so", () => {
    const note = "[… 99000 bytes in all. Read on with slice_result, delegationId ab12cd.]";
    const messages: Message[] = [
      { role: "user", text: "go" },
      { role: "assistant", text: "", calls: [{ id: "c", name: "t", input: {} }] },
      {
        role: "tool",
        callId: "c",
        tool: "t",
        text: `${"x\n".repeat(9000)}${note}`,
        isError: false,
      },
    ];
    const once = shorten(messages, { keep: 1, old: 200, recent: 8000 });
    const twice = shorten(once, { keep: 0, old: 200 });
    expect(once[2]?.text).toContain(note);
    expect(twice[2]?.text).toContain(note);
    expect(twice[2]?.text.length).toBeLessThan(400);
    expect(twice[2]?.text.match(/shortened/g)).toHaveLength(1);
  });
});

describe("chooseShortening", () => {
  it("removes something, as little as is enough, until nothing is left to remove", () => {
    fc.assert(
      fc.property(conversation, fc.nat(60_000), (messages, most) => {
        let left: readonly Message[] = messages;
        for (let times = 0; ; times++) {
          expect(times).toBeLessThan(10);
          const by = chooseShortening(left, most);
          if (by === undefined) break;
          const next = shorten(left, by);
          expect(sizeOfAll(next)).toBeLessThan(sizeOfAll(left));
          left = next;
        }
        expect(left.length).toBeLessThanOrEqual(lastTurn(messages).length + 3);
      }),
    );
  });

  it("takes recent results only when the old ones were not enough", () => {
    const long = "x".repeat(20_000);
    const messages: Message[] = [{ role: "user", text: "go" }];
    for (let turns = 0; turns < 8; turns++) {
      messages.push({ role: "assistant", text: "", calls: [{ id: "c", name: "t", input: {} }] });
      messages.push({ role: "tool", callId: "c", tool: "t", text: long, isError: false });
    }
    expect(chooseShortening(messages, 100_000)).toEqual({ keep: 3, old: 200 });
    expect(chooseShortening(messages, 40_000)).toEqual({ keep: 1, old: 200 });
    expect(chooseShortening(messages, 16_000)).toEqual({ keep: 1, old: 200, recent: 8000 });
    expect(chooseShortening(messages, 500)).toMatchObject({ keep: 0, turns: 1 });
  });
});

describe("a conversation that the first version shortened", () => {
  it("is rebuilt as it was: old results cut to 200 characters, the last six messages whole", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const short = shortenAsBefore(messages);
        expect(short).toHaveLength(messages.length);
        for (const [index, before] of messages.entries()) {
          const isRecent = index >= messages.length - 6;
          if (before.role !== "tool" || isRecent || before.text.length <= 200) {
            expect(short[index]).toBe(before);
            continue;
          }
          expect(short[index]?.text).toBe(
            `${before.text.slice(0, 200)}\n[… shortened to save space; call the tool again if it is needed]`,
          );
        }
      }),
    );
  });
});
