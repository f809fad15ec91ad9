import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { judgeByRules } from "../../contracts/judge-by-rules.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { addFiles, callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { globFiles } from "./glob-files.ts";
import { grepTool } from "./grep-files.ts";
import { listFiles } from "./list-files.ts";
import { findRipgrep } from "./search/ripgrep.ts";

const withIt = grepTool(findRipgrep);
const withoutIt = grepTool(async () => null);
const note = "[What your rules deny was left out.]";
const closed: ToolRule[] = [{ tool: "*", match: "secret/**", action: "deny" }];

const files = {
  "a.txt": "word",
  "secret/key.txt": "word",
  "secret/deep/key.txt": "word",
  "src/b.txt": "word",
  "src/secret.txt": "word",
};

function under(root: string, ...rules: (readonly ToolRule[])[]): ToolContext {
  return { ...contextFor(root), rules };
}

async function ask(tool: Tool, input: object, context: ToolContext): Promise<readonly string[]> {
  return (await callTool(tool, input, context)).text.split("\n");
}

/** What the gate would say of a call. */
async function ruling(tool: Tool, input: object, context: ToolContext) {
  let subjects: Awaited<ReturnType<NonNullable<Tool["about"]>>> | undefined;
  try {
    subjects = await tool.about?.(tool.input.parse(input), context);
  } catch {
    subjects = undefined;
  }
  return judgeByRules(context.rules ?? [], tool.name, subjects);
}

describe("a folder that rules deny", () => {
  it("is passed over by lists, with everything below it", async () => {
    const context = under(makeTree(files), closed);
    expect(await ask(listFiles, { recursive: true }, context)).toEqual([
      ...["a.txt", "src/", "src/b.txt", "src/secret.txt"],
      note,
    ]);
    expect(await ask(listFiles, {}, context)).toEqual(["a.txt", "src/", note]);
  });

  it("is passed over by searches, with ripgrep and without it", async () => {
    const context = under(makeTree(files), closed);
    const seen = ["a.txt", "src/b.txt", "src/secret.txt"];
    expect(await ask(globFiles, { pattern: "**" }, context)).toEqual([...seen, note]);
    expect(await ask(globFiles, { pattern: "key.*" }, context)).toEqual([
      expect.stringMatching(/^No file/),
      note,
    ]);
    for (const grep of [withIt, withoutIt]) {
      const input = { pattern: "word", output: "files" };
      expect(await ask(grep, input, context)).toEqual([...seen, note]);
      const there = { pattern: "word", glob: "secret/**" };
      expect(await ask(grep, there, context)).toEqual([expect.stringMatching(/^No line/), note]);
    }
  });

  it("is no reason to refuse a call that begins above it, and one to refuse a call in it", async () => {
    const context = under(makeTree(files), closed);
    for (const [tool, input] of [
      [listFiles, { recursive: true }],
      [globFiles, { pattern: "**" }],
      [withoutIt, { pattern: "word" }],
    ] as const) {
      expect(await ruling(tool, input, context)).toBe("allow");
      for (const path of ["secret", "secret/deep", "src/../secret", "./secret/."]) {
        expect(await ruling(tool, { ...input, path }, context)).toBe("deny");
      }
    }
    expect(await ruling(withoutIt, { pattern: "word", path: "secret/key.txt" }, context)).toBe(
      "deny",
    );
  });

  it("is the same under another name that a link gives it", async () => {
    const root = makeTree(files);
    symlinkSync("../secret", join(root, "src/link"));
    const context = under(root, closed);
    for (const [tool, input] of [
      [listFiles, { path: "src/link", recursive: true }],
      [globFiles, { path: "src/link", pattern: "**" }],
      [withoutIt, { path: "src/link", pattern: "word" }],
      [withoutIt, { path: "src/link/key.txt", pattern: "word" }],
    ] as const) {
      expect(await ruling(tool, input, context)).toBe("deny");
      // Whatever is judged before, what is looked at is judged again.
      expect((await ask(tool, input, context)).join("\n")).not.toMatch(/key\.txt:|key\.txt$/m);
    }
  });

  it("says the same of itself whether it holds what was looked for or not", async () => {
    const context = under(makeTree(files), closed);
    const guess = async (pattern: string) =>
      (await ask(globFiles, { pattern }, context)).join("\n").replaceAll(pattern, "");
    expect(await guess("secret/key.*")).toBe(await guess("secret/nokey.*"));
  });

  it("stays open where an exception of the same list says so", async () => {
    const rules: ToolRule[] = [...closed, { tool: "*", match: "secret/deep/*", action: "allow" }];
    const context = under(makeTree(files), rules);
    const input = { pattern: "word", output: "files" };
    const expected = ["a.txt", "secret/deep/key.txt", "src/b.txt", "src/secret.txt", note];
    expect(await ask(withIt, input, context)).toEqual(expected);
    expect(await ask(listFiles, { recursive: true }, context)).toContain("secret/deep/key.txt");
    expect(await ruling(withIt, input, context)).toBe("allow");
    // Not where somebody above has closed it.
    const bound = under(makeTree(files), closed, rules);
    expect(await ask(withIt, input, bound)).not.toContain("secret/deep/key.txt");
  });

  it("is closed to the tools that the rule names, and to no others", async () => {
    const rules: ToolRule[] = [{ tool: "grep", match: "secret/**", action: "deny" }];
    const context = under(makeTree(files), rules);
    expect(await ask(globFiles, { pattern: "key.txt" }, context)).toHaveLength(2);
    expect(await ask(withIt, { pattern: "word", output: "files" }, context)).not.toContain(
      "secret/key.txt",
    );
  });

  it("can be all but a part of the workspace", async () => {
    const rules: ToolRule[] = [
      { tool: "*", action: "deny" },
      { tool: "*", match: "src/**", action: "allow" },
    ];
    const context = under(makeTree(files), rules);
    const seen = ["src/b.txt", "src/secret.txt", note];
    expect(await ask(globFiles, { pattern: "**" }, context)).toEqual(seen);
    expect(await ask(listFiles, { recursive: true }, context)).toEqual(seen);
    expect(await ruling(globFiles, { pattern: "**" }, context)).toBe("allow");
    expect(await ruling(globFiles, { pattern: "key.*" }, context)).toBe("deny");
    expect(await ruling(listFiles, {}, context)).toBe("deny");
  });
});

describe("a folder that rules ask about", () => {
  it("makes a question of every call that would look into it, however it begins", async () => {
    const root = makeTree(files);
    mkdirSync(join(root, "private"));
    const rules: ToolRule[] = [
      { tool: "*", match: "secret/**", action: "ask" },
      { tool: "*", match: "private/**", action: "ask" },
    ];
    const context = under(root, rules);
    expect(await ruling(listFiles, { recursive: true }, context)).toBe("ask");
    expect(await ruling(listFiles, {}, context)).toBe("ask");
    expect(await ruling(listFiles, { path: "src" }, context)).toBe("allow");
    expect(await ruling(globFiles, { pattern: "**" }, context)).toBe("ask");
    expect(await ruling(globFiles, { pattern: "b.*" }, context)).toBe("allow");
    expect(await ruling(withIt, { pattern: "word" }, context)).toBe("ask");
  });

  it("makes one of calls about more files than can be looked at one by one", async () => {
    const root = makeTree({ "src/a.txt": "" });
    const many = Array.from({ length: 10_001 }, (_, index) => [`many/${index}`, ""]);
    addFiles(root, Object.fromEntries(many));
    const rules: ToolRule[] = [{ tool: "*", match: "zzz/**", action: "ask" }];
    expect(await ruling(globFiles, { pattern: "**" }, under(root, rules))).toBe("ask");
    expect(await ruling(globFiles, { pattern: "**", path: "src" }, under(root, rules))).toBe(
      "allow",
    );
    // What is denied is passed over on the way, so nothing has to be known before.
    expect(await ruling(globFiles, { pattern: "**" }, under(root, closed))).toBe("allow");
  });
});

describe("through the gate", () => {
  it("names and lines of a denied folder reach neither the model nor the log", async () => {
    const calls = [
      { tool: "list_files", input: { recursive: true } },
      { tool: "list_files", input: { path: "secret" } },
      { tool: "glob", input: { pattern: "**" } },
      { tool: "grep", input: { pattern: "." } },
      { tool: "grep", input: { pattern: ".", path: "secret/unseen.txt" } },
      { tool: "read_file", input: { path: "secret/other.txt" } },
      { tool: "document_query", input: { path: "secret/other.txt" } },
    ];
    const { seen, model } = recording(({ caller }) => (caller.turn === 1 ? { calls } : "done"));
    const profile = testProfile("reader", { toolRules: closed });
    await using mandate = await openEngine({ profiles: [profile], model });
    addFiles(mandate.workspace, { "secret/unheard-of.txt": "CANARY", "src/a.txt": "fine" });
    const { workspace } = mandate;
    const { events } = await mandate.run({ task: "go", profile: "reader", workspace });
    const told = JSON.stringify([seen[1]?.messages, events]);
    expect(told).not.toMatch(/CANARY|unheard-of/);
    expect(ofType(events, "agent.tool_denied").map(({ payload }) => payload.rule)).toEqual(
      Array(4).fill("tool_rule"),
    );
    const outputs = ofType(events, "agent.tool_completed").map(({ payload }) => payload.output);
    expect(outputs).toHaveLength(3);
    for (const output of outputs) expect(output).toContain("src/a.txt");
  });
});
