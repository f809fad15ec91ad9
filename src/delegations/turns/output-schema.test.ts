import { describe, expect, it } from "vitest";
import { Transcript } from "../../sessions/transcript.ts";
import { exampleContract } from "../../testing/example-contract.ts";
import { judgeOutput } from "../next.ts";

const schema = {
  type: "object",
  properties: { answer: { type: "integer" }, tags: { type: "array", items: { type: "string" } } },
  required: ["answer"],
  additionalProperties: false,
};
const contract = exampleContract({ exit: { tools: [], output_schema: schema, evidence: "none" } });

function judge(text: string, options: { byTool?: boolean; repaired?: boolean } = {}) {
  const transcript = new Transcript("task");
  if (options.repaired) {
    const payload = { from: "repair", severity: "warn", message: "again" } as const;
    transcript.apply({ type: "agent.interjected", payload });
  }
  return judgeOutput({ text, byTool: options.byTool ?? false }, contract, transcript);
}

describe("a final output", () => {
  it("is taken as it is when no schema was asked for", () => {
    const verdict = judgeOutput(
      { text: "anything", byTool: false },
      exampleContract(),
      new Transcript("task"),
    );
    expect(verdict).toEqual({ kind: "output", text: "anything" });
  });

  it("that fits is handed on to the letter", () => {
    for (const text of ['{"answer":42}', ' {"answer": 42, "tags": ["a"]}\n']) {
      expect(judge(text)).toEqual({ kind: "output", text });
    }
  });

  it("may stand in a code fence", () => {
    for (const fence of ["```json", "```"]) {
      expect(judge(`${fence}\n{"answer":1}\n\`\`\``)).toMatchObject({ kind: "output" });
    }
  });

  it("that does not fit is repaired once, with what is wrong, and then fails", () => {
    const wrong = ["so be it", "{", '{"answer":"x"}', "{}", '{"answer":1,"more":2}', "[]", "null"];
    for (const text of wrong) {
      expect(judge(text)).toMatchObject({ kind: "repair" });
      expect(judge(text, { repaired: true })).toMatchObject({
        kind: "failure",
        cause: { code: "schema_unmet" },
      });
    }
    const verdict = judge('{"answer":"x"}');
    expect(verdict).toMatchObject({ reminder: { text: expect.stringMatching(/answer/) } });
  });

  it("handed in through a tool is judged by its outputs", () => {
    const through = { byTool: true };
    expect(judge('{"summary":"s","outputs":{"answer":1}}', through)).toMatchObject({
      kind: "output",
    });
    expect(judge('{"answer":1}', through)).toMatchObject({ kind: "repair" });
    expect(judge("just a summary", through)).toMatchObject({ kind: "repair" });
    expect(judge("null", through)).toMatchObject({ kind: "repair" });
  });
});
