import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { toPlainData } from "../foreign/plain-data.ts";
import type { ProfileFields } from "./profile.ts";
import { parseMarkdownProfile, writeMarkdownProfile } from "./profile-document.ts";

function again(fields: ProfileFields) {
  return parseMarkdownProfile(writeMarkdownProfile("a", fields), "a.md");
}

test("every field comes back as it was", () => {
  const fields: ProfileFields = {
    title: "no: yes",
    description: "One.\n\n<example>\nuser: x\n  indented: y\n",
    capabilities: ["primary", "subtask"],
    prompt: "# Hello\n\n---\nname: not a key\n---\n",
    systemPromptFile: "docs/prompt.md",
    bootstrapFiles: [],
    opening: "  Begin: now ",
    model: { pool: "sonnet", fallbacks: ["a/b"], temperature: 0, effort: "low" },
    tools: ["read_file", "mcp__a__*"],
    toolRules: [{ tool: "*", match: "*.md", action: "ask" }],
    skills: "*",
    mcpServers: [],
    servers: { "a.b": { kind: "stdio", command: "x", env: { K: "null" }, args: ["1"] } },
    scopes: [],
    network: ["example.com"],
    mayDelegate: { tools: [] },
    workspace: { allowWrites: false, writeRoots: ["docs"] },
    limits: { turns: 3 },
    triggers: { slash: ["go"] },
    exit: { outputSchema: { type: "object", default: null } },
    onParentInterrupt: "pause",
    hidden: true,
    disabled: true,
    metadata: { date: "2025-01-01", "": [null, { "1": "01" }], text: "a\tb\u0001\u2028 " },
  };
  const trimmed = {
    ...fields,
    description: fields.description?.trim(),
    prompt: fields.prompt?.trim(),
  };
  expect(again(fields)).toEqual({ name: "a", fields: trimmed });
});

test.each(["---", "---\nname: x\n---\nBody", "--- a", "----", "...", "\u2028a", "a\n...\nb"])(
  "a prompt that is %j survives",
  (prompt) => {
    expect(again({ description: "d", prompt }).fields.prompt).toBe(prompt.trim());
  },
);

test("whatever the texts, they come back", () => {
  const text = fc
    .oneof(fc.string({ unit: "binary" }), fc.string(), fc.lorem())
    .map((each) => String(toPlainData(each)).trim())
    .filter((each) => each !== "");
  const metadata = fc.dictionary(text, fc.jsonValue()).map((each) => toPlainData(each));
  fc.assert(
    fc.property(text, text, text, metadata, (description, prompt, opening, kept) => {
      const fields = { description, prompt, opening, metadata: kept } as ProfileFields;
      expect(again(fields)).toEqual({ name: "a", fields });
    }),
    { numRuns: cases(1000) },
  );
});
