import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { parseMarkdownProfile } from "./profile-document.ts";

function parse(source: string | Uint8Array) {
  return parseMarkdownProfile(source, "a.md");
}

function withKeys(keys: string, body = "Prompt."): string {
  return `---\nname: a\ndescription: d\n${keys}\n---\n${body}\n`;
}

function problem(source: string | Uint8Array): string {
  try {
    parse(source);
  } catch (error) {
    expect(error).toBeInstanceOf(MandateError);
    expect((error as MandateError).code).toBe("profile-invalid");
    return (error as MandateError).message;
  }
  throw new Error("expected the profile to be refused");
}

test("the format of the delegation design is read as it stands there", () => {
  const profile = parse(
    "---\nname: researcher\ndescription: Information gathering and analysis specialist\n" +
      "maxTokenBudget: 50000\nallowedTools:\n  - memory_load\n  - web_fetch\n---\n\n" +
      "# Researcher Agent\n\nYou are a focused research specialist.\n\n---\n\n## Behavior\n",
  );
  expect(profile).toEqual({
    name: "researcher",
    fields: {
      description: "Information gathering and analysis specialist",
      prompt: "# Researcher Agent\n\nYou are a focused research specialist.\n\n---\n\n## Behavior",
      tools: ["memory_load", "web_fetch"],
      limits: { tokens: 50000 },
    },
  });
});

test("every field of a profile has a key", () => {
  const { fields } = parse(
    withKeys(`capabilities: [primary, orchestrator]
system_prompt_file: docs/PROMPT.md
bootstrapFiles: [SOUL.md]
model: { model: anthropic/claude, allow: [openai/gpt], maxOutputTokens: 100, temperature: 0.5 }
tools: "*"
skills: []
mcpServers: [github]
scopes: ["files:read"]
network: [example.com]
mayDelegate: { tools: [shell], skills: "*", mcpServers: [], models: [a/b], network: [] }
workspace: { isolation: sandbox, allowWrites: true, writeRoots: [out] }
limits: { tokens: 1, cost: 0.5, timeoutMs: 2, depth: 0, retries: 0, joinTokens: 3 }
exit: { tools: [complete_task], outputSchema: { const: null }, evidence: tool_calls }
onParentInterrupt: pause`),
  );
  expect(fields).toMatchObject({
    capabilities: ["primary", "orchestrator"],
    systemPromptFile: "docs/PROMPT.md",
    bootstrapFiles: ["SOUL.md"],
    model: { model: "anthropic/claude", allow: ["openai/gpt"], temperature: 0.5 },
    tools: "*",
    skills: [],
    mayDelegate: { tools: ["shell"], skills: "*", mcpServers: [] },
    workspace: { isolation: "sandbox", allowWrites: true, writeRoots: ["out"] },
    limits: { depth: 0, retries: 0, timeoutMs: 2 },
    exit: { outputSchema: { const: null }, evidence: "tool_calls" },
    onParentInterrupt: "pause",
  });
  expect(parse(withKeys("model: a/b")).fields.model).toEqual({ model: "a/b" });
});

describe("what may be used is never guessed", () => {
  test("an absent list inherits, an empty one is none", () => {
    expect("tools" in parse(withKeys("")).fields).toBe(false);
    expect(parse(withKeys("allowedTools: []")).fields.tools).toEqual([]);
  });

  test.each(["allowedTools:", "tools: ~", "skills: null", "mayDelegate: { tools: }"])(
    "%s has no value and asks what was meant",
    (keys) => {
      expect(problem(withKeys(keys))).toMatch(
        /^a\.md:4: ".*" has no value; write \[\] for none, or leave the key out to inherit$/,
      );
    },
  );

  test.each([
    ["allowedTool: [a]", 'a.md:4: unknown key "allowedTool"; did you mean "allowedTools"?'],
    ["allowed_tools: [a]", 'a.md:4: unknown key "allowed_tools"; did you mean "allowedTools"?'],
    ["limits:\n  token: 5", 'a.md:5: unknown key "token"; did you mean "tokens"?'],
  ])("%s is a typo, named with its line", (keys, message) => {
    expect(problem(withKeys(keys))).toBe(message);
  });

  test.each([
    "allowedTools: read_file, grep",
    "allowedTools: true",
    "allowedTools: { read_file: true }",
    'allowedTools: ["*"]',
    'allowedTools: ["mcp__*"]',
    "allowedTools: [a]\ntools: [b]",
    "maxTokenBudget: 5\nlimits: { tokens: 6 }",
  ])("%j cannot be kept exactly and is refused", (keys) => {
    expect(problem(withKeys(keys))).toMatch(/^a\.md:\d: /);
  });
});

test.each([
  ["nothing", ""],
  ["no front matter", "# Agent\n"],
  ["unclosed front matter", "---\nname: a\ndescription: d\n"],
  ["front matter in JavaScript", "---js\nmodule.exports = { name: 'a' }\n---\nx"],
  ["front matter in JSON", '---json\n{"name": "a"}\n---\nx'],
  ["empty front matter", "---\n---\nx"],
  ["a list as front matter", "---\n- name\n---\nx"],
  ["a second front matter", withKeys("", "---\nallowedTools: []\n---\nPrompt.")],
  ["a NUL", withKeys("", "a\0b")],
  ["invalid UTF-8", Buffer.concat([Buffer.from(withKeys("")), Buffer.from([0xff])])],
  ["10 MB", withKeys("", "x".repeat(10_000_000))],
  ["a duplicate key", withKeys("tools: [a]\ntools: []")],
  ["a merge key", withKeys("<<: { tools: '*' }")],
  ["a prototype key", withKeys("__proto__: { tools: '*' }")],
  ["an alias bomb", withKeys(bomb())],
  ["a tag", withKeys("tools: !!js/function 'function () {}'")],
  ["a name that climbs", "---\nname: ../a\ndescription: d\n---\nx"],
  ["a name in capitals", "---\nname: A\ndescription: d\n---\nx"],
  ["a name of 65 characters", `---\nname: ${"a".repeat(65)}\ndescription: d\n---\nx`],
  ["a prompt file that climbs", withKeys("systemPromptFile: docs/../../x")],
  ["an absolute prompt file", withKeys("system_prompt_file: /etc/passwd")],
  ["a prompt file on another drive", withKeys('systemPromptFile: "C:\\\\x"')],
  ["a bootstrap file that climbs", withKeys("bootstrap_files: [../x]")],
  ["a write root that climbs", withKeys("workspace: { writeRoots: [..] }")],
  ["a negative limit", withKeys("maxTokenBudget: -1")],
  ["a fraction of a token", withKeys("maxTokenBudget: 1.5")],
  ["an infinite limit", withKeys("maxTokenBudget: 1e999")],
  ["a limit that is no number", withKeys("maxTokenBudget: .nan")],
  ["a limit as text", withKeys("maxTokenBudget: '5'")],
  ["a deadline no timer can hold", withKeys("limits: { timeoutMs: 2147483648 }")],
  ["a model without a provider", withKeys("model: gpt")],
  ["a capability nobody knows", withKeys("capabilities: [root]")],
])("%s is refused with the file and a line", (_title, source) => {
  expect(problem(source)).toMatch(/^a\.md:\d+: /);
});

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const inner =
      level === 0
        ? "x"
        : Array(10)
            .fill(`*l${level - 1}`)
            .join(", ");
    return `l${level}: &l${level} [${inner}]`;
  });
  return levels.join("\n");
}

test("a byte order mark and Windows line ends make no difference", () => {
  const plain = withKeys("allowedTools: [read_file]", "One.\n\nTwo.");
  const windows = `\ufeff${plain.replaceAll("\n", "\r\n")}`;
  expect(parse(windows)).toEqual(parse(plain));
});

test("whatever the bytes are, it is a profile or a MandateError", () => {
  const pieces = [
    "---\n",
    "name: a\n",
    "description: d\n",
    "tools:",
    " []\n",
    "*",
    "&a ",
    "\t",
    ": ",
  ];
  const source = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 20 });
  fc.assert(
    fc.property(source, (parts) => {
      try {
        expect(parse(`---\n${parts.join("")}`).name ?? "a").toMatch(/^[a-z0-9]/);
      } catch (error) {
        expect(error).toBeInstanceOf(MandateError);
      }
    }),
    { numRuns: cases(500) },
  );
});
