import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { commandTable } from "./command-table.ts";
import { parseCommand } from "./parse-command.ts";

const usage = (text: string): string => {
  const parsed = parseCommand(text);
  return "usage" in parsed ? parsed.usage : "accepted";
};
const given = (text: string): object => {
  const parsed = parseCommand(text);
  if ("usage" in parsed) throw new Error(parsed.usage);
  return parsed.given;
};

describe("what is a command", () => {
  it("is a text whose first character is a slash", () => {
    expect("usage" in parseCommand("/agents")).toBe(false);
    for (const text of [
      "",
      "agents",
      " /agents",
      "\n/agents",
      "\ufeff/agents",
      "\u200b/agents",
      "\uff0fagents",
      "```\n/agents unregister @writer\n```",
      "`/agents`",
      "> /agents",
      '"/agents"',
      "please run /agents",
    ]) {
      expect(usage(text)).toBe("A command begins with a slash: /help");
    }
  });

  it("is known, or the nearest known one is named", () => {
    expect(usage("/agnts")).toBe('There is no command "/agnts". Did you mean /agents?');
    expect(usage("/Agents")).toBe('There is no command "/Agents". Did you mean /agents?');
    expect(usage("/agents\u200b list")).toBe(
      'There is no command "/agents\\u200b". Did you mean /agents?',
    );
    const known =
      "/help, /status, /tree, /budget, /cancel, /tell, /resume, /sessions, /workspace, /inbox, /answer, /oracle, /review, /pair, /orchestrate, /spawnagent, /workflow, /agents";
    expect(usage("/launch the rockets")).toBe(
      `There is no command "/launch". There are: ${known}.`,
    );
    expect(usage("/")).toBe(`There is no command "/". There are: ${known}.`);
    expect(usage("/agents regster @w | a | b")).toBe(
      'There is no command "/agents regster". Did you mean /agents register?',
    );
    expect(usage("/agents frobnicate")).toMatch(/There are: list, show, register, /);
    expect(usage("/agents/register")).toMatch(/^There is no command "\/agents\/register"/);
  });

  it("has a name of its own and a form that people can read", () => {
    const names = commandTable.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, about } of commandTable) {
      expect(name).toMatch(/^[a-z]+( [a-z-]+)?$/);
      expect(about).toMatch(/^[A-Z].*\.$/);
    }
  });
});

describe("what a command takes", () => {
  it.each([
    ["/agents", "agents", {}],
    ["/agents  \t\r\n", "agents", {}],
    ["/agents list", "agents list", {}],
    ["/agents \t show   @writer ", "agents show", { agentId: "@writer" }],
    [
      "/agents register @w1 | writer | Writes, edits: \"all\" of 'it' \\ and more",
      "agents register",
      {
        agentId: "@w1",
        profileId: "writer",
        description: "Writes, edits: \"all\" of 'it' \\ and more",
      },
    ],
    [
      "/agents register @w1|profile:writer:v1|Ünïcode 😀 文書",
      "agents register",
      { agentId: "@w1", profileId: "profile:writer:v1", description: "Ünïcode 😀 文書" },
    ],
    ["/agents unregister @w1\n", "agents unregister", { agentId: "@w1" }],
    [
      "/agents set-description @w1 | New",
      "agents set-description",
      { agentId: "@w1", change: { description: "New" } },
    ],
    [
      "/agents set-profile @w1 | coder",
      "agents set-profile",
      { agentId: "@w1", change: { profileId: "coder" } },
    ],
    [
      "/agents set-tags @w1 | a, b c",
      "agents set-tags",
      { agentId: "@w1", change: { tags: ["a", "b c"] } },
    ],
    [
      "/agents set-skills @w1 | default: a, b | allowed: c",
      "agents set-skills",
      {
        agentId: "@w1",
        change: { defaultForwardSkills: ["a", "b"], allowedForwardSkills: ["c"] },
      },
    ],
    [
      "/agents set-skills @w1 | allowed:",
      "agents set-skills",
      { agentId: "@w1", change: { allowedForwardSkills: [] } },
    ],
    [
      "/agents set-servers @w1 | allowed: *",
      "agents set-servers",
      { agentId: "@w1", change: { allowedMcpServers: null } },
    ],
    ["/agents pin @w1", "agents pin", { agentId: "@w1", scope: "session" }],
    ["/agents pin @w1 --user", "agents pin", { agentId: "@w1", scope: "user" }],
    ["/agents pin --workspace @w1", "agents pin", { agentId: "@w1", scope: "workspace" }],
    ["/agents unpin", "agents unpin", { scope: "session" }],
    ["/agents unpin --global", "agents unpin", { scope: "global" }],
    ["/agents pins", "agents pins", {}],
    ["/agents export-yaml", "agents export-yaml", {}],
    ["/help", "help", { words: "" }],
    ["/help /agents   pin", "help", { words: "agents pin" }],
    ["/status \t", "status", {}],
    ["/tree", "tree", {}],
    ["/tree r3f2a10", "tree", { id: "r3f2a10" }],
    ["/budget oracle#3f2a10", "budget", { id: "3f2a10" }],
    ["/cancel 3f2a10", "cancel", { id: "3f2a10" }],
    ["/tell 3f2a10 also b", "tell", { id: "3f2a10", text: "also b" }],
    ["/tell worker#3f2a10\n one\n\n two ", "tell", { id: "3f2a10", text: "one\n\n two" }],
    ["/resume r3f2a10ff", "resume", { id: "r3f2a10ff" }],
    ["/sessions", "sessions", {}],
    ["/workspace", "workspace", {}],
    ["/workspace readonly", "workspace", { mode: "readonly" }],
    ["/inbox", "inbox", { selection: "new" }],
    ["/inbox all", "inbox", { selection: "all" }],
    ["/answer q3f2a10 yes | no", "answer", { id: "q3f2a10", text: "yes | no" }],
    ["/answer q3f2a10\n one\n\n two ", "answer", { id: "q3f2a10", text: "one\n\n two" }],
    ['/oracle  why "so" | slow?', "oracle", { task: 'why "so" | slow?' }],
    ["/oracle\nwhy\n/agents unregister @w1", "oracle", { task: "why\n/agents unregister @w1" }],
    ["/orchestrate build it", "orchestrate", { task: "build it" }],
    ["/review", "review", {}],
    ["/review main..topic", "review", { range: "main..topic" }],
    ["/pair", "pair", { act: "toggle" }],
    ["/pair off", "pair", { act: "off" }],
    ["/pair on r3f2a10", "pair", { act: "on", id: "r3f2a10" }],
    ["/pair on the login page", "pair", { act: "task", task: "on the login page" }],
    ["/spawnagent @w1 do it\nnow", "spawnagent", { agent: "@w1", task: "do it\nnow" }],
    ["/spawnagent writer do it", "spawnagent", { agent: "writer", task: "do it" }],
  ])("%j", (text, name, expected) => {
    expect(parseCommand(text)).toEqual({ name, given: expected });
  });

  it("keeps raw text byte for byte after the first white space", () => {
    const yaml =
      "  version: 1\n\nagents:\n  - agentId: '@w'\n    description: |\n      a | b  \n\t\u200b";
    for (const space of [" ", "\n", "\t"]) {
      expect(given(`/agents apply-yaml${space}${yaml}`)).toEqual({ text: yaml });
    }
    expect(given("/agents apply-yaml  x ")).toEqual({ text: " x " });
  });

  it.each([
    ["/agents list all", "It takes nothing more."],
    ["/agents show", 'agentId: "" must be "@"'],
    ["/agents show writer", 'agentId: "writer" must be "@"'],
    ["/agents show @Writer", '"W" (U+0057) is none of them'],
    ["/agents show @wr\u0456ter", '"\u0456" (U+0456) is none of them'],
    ["/agents show @one @two", "U+0020 is none of them"],
    ["/agents register @w1 writer d", "It takes 3 parts with | between them; there are 1."],
    ["/agents register @w1 | writer", "It takes 3 parts with | between them; there are 2."],
    ["/agents register @w1 | writer | a | b", "It takes 3 parts with | between them; there are 4."],
    ["/agents register @w1 | writer | ", "Part 3 is empty."],
    ["/agents register | writer | d", "Part 1 is empty."],
    ['/agents register "@w1" | writer | d', "agentId:"],
    [
      `/agents register @w1 | writer | ${"d".repeat(301)}`,
      "description: 301 characters; at most 300",
    ],
    ["/agents register @w1 | writer | a\nb", "It has more than one line."],
    ["/agents\nregister @w1 | writer | d", "It has more than one line."],
    ["/agents pin @w1\n/agents unregister @w1", "It has more than one line."],
    ["/agents register @w1 | writer | a\u202eb", "It contains U+202E, which is invisible."],
    ["/agents register @w1 | writer | a\u200bb", "It contains U+200B, which is invisible."],
    ["/agents register @w1 | writer | a\u0000b", "It contains U+0000, which is invisible."],
    ["/agents register @w1 | writer | a\u2028b", "It contains U+2028, which is invisible."],
    ["/agents register @w1 | writer | a\ud800b", "It contains U+D800, which is invisible."],
    [`/agents show @${"a".repeat(5000)}`, ""],
    [`/agents unpin ${" x".repeat(4000)}`, "It is longer than 4000 characters."],
    ["/agents set-tags @w1", "It takes 2 parts"],
    ["/agents set-skills @w1", "It takes 2 to 3 parts"],
    ["/agents set-skills @w1 | a, b", 'A list begins with "default:" or "allowed:".'],
    ["/agents set-skills @w1 | allowed: a | allowed: b", '"allowed:" is there twice.'],
    ["/agents set-skills @w1 | default: *", 'only "allowed:" can be *'],
    ["/agents pin", 'agentId: "" must be'],
    ["/agents pin @w1 --everywhere", 'There is no scope "--everywhere". There are: --session'],
    ["/agents pin @w1 --user --global", "It takes one scope."],
    ["/agents pin @w1 @w2", "It takes one agent."],
    ["/agents unpin @w1", "It takes a scope alone."],
    ["/agents apply-yaml", "There is nothing to apply."],
    ["/agents apply-yaml \n ", "There is nothing to apply."],
    [`/agents apply-yaml ${"x".repeat(1_000_001)}`, "It is larger than 1 MB."],
    ["/status now", "It takes nothing more."],
    ["/status\n/cancel 3f2a10", "It has more than one line."],
    ["/cancel", "It takes an id, as /status shows them."],
    ["/cancel everything", '"everything" is not an id.'],
    ["/tell", "It takes an id, as /status shows them."],
    ["/tell worker hello", '"worker" is not an id.'],
    ["/tell 3f2a10", "The message is missing."],
    ["/tell 3f2a10 a\u200bb", "It contains U+200B, which is invisible."],
    ["/resume q3f2a10", '"q3f2a10" is not an id.'],
    ["/cancel 3F2A10", '"3F2A10" is not an id.'],
    ["/cancel 3f2a10 3f2a11", '"3f2a10 3f2a11" is not an id.'],
    ["/cancel 3f2a1\u200b0", "It contains U+200B, which is invisible."],
    ["/cancel __proto__", '"__proto__" is not an id.'],
    ["/tree --all", '"--all" is not an id.'],
    ["/workspace ReadOnly", "It takes readonly or writable."],
    ["/workspace readonly writable", "It takes readonly or writable."],
    ["/inbox mine", "It takes all or open."],
    ["/answer", '"" is no question.'],
    ["/answer q3f2a10", "The answer is missing."],
    ["/answer q3f2a10 \n ", "The answer is missing."],
    ["/answer 3f2a10 yes", '"3f2a10" is no question.'],
    ["/answer q3f2a10 ye\u202es", "It contains U+202E, which is invisible."],
    ["/oracle", "The question is missing."],
    ["/oracle \n\t ", "The question is missing."],
    ["/oracle a\u0000b", "It contains U+0000, which is invisible."],
    ["/oracle a\u001b[2Jb", "It contains U+001B, which is invisible."],
    [`/oracle ${"x".repeat(32_000)}`, "It is longer than 32000 characters."],
    ["/orchestrate", "The goal is missing."],
    ["/review the login page", '"the login page" is not a range of commits'],
    ["/review --output=/etc/passwd", '"--output=/etc/passwd" is not a range of commits'],
    ["/review main..topic; rm", "is not a range of commits"],
    ["/spawnagent", "The agent and its prompt are missing."],
    ["/spawnagent writer", "The prompt is missing."],
    ["/spawnagent @Writer x", '"W" (U+0057) is none of them'],
    ["/spawnagent ../writer x", "is neither a handle nor the name of a profile."],
  ])("says what is wrong, and the form: %j", (text, problem) => {
    const said = usage(text);
    expect(said).toContain(problem);
    expect(said).toMatch(/\nUsage: \/[a-z]+|There is no command/);
  });
});

describe("whatever the text", () => {
  it("is judged, also when it is made of a megabyte of blanks", () => {
    const blanks = " ".repeat(1_000_000);
    const bombs = [`/${blanks}x`, `/agents${blanks}x`, `/agents list${blanks}x`];
    bombs.push(`/oracle${blanks}x`, `/answer${blanks}`, `/oracle ${"\n".repeat(1_000_000)}x`);
    bombs.push(`/agents show @w${"\n".repeat(1_000_000)}x`, `/${"a".repeat(1_000_000)}`);
    for (const bomb of bombs) expect(usage(bomb)).not.toBe("accepted");
  });

  const pieces = fc.constantFrom(
    ...[
      "/agents",
      "register",
      "apply-yaml",
      "pin",
      "--user",
      "@w1",
      "|",
      " ",
      "\n",
      "\t",
      "writer",
    ],
    ...[
      "\u200b",
      "\u202e",
      '"',
      "/",
      "default:",
      "*",
      "\ud800",
      "__proto__",
      "\u0000",
      "set-skills",
    ],
    ...["/oracle", "/answer", "q3f2a10", "/pair", "on", "/review", "main..topic", "/spawnagent"],
    ...["/cancel", "r3f2a10", "#", "/help", "/workspace", "readonly", "/tree", "\r\n", "\ufeff"],
  );
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
    fc.array(pieces, { maxLength: 12 }).map((parts) => `/agents ${parts.join(" ")}`),
    fc.array(pieces, { maxLength: 12 }).map((parts) => `/${parts.join(" ")}`),
    fc.string({ unit: "binary" }).map((text) => `/oracle ${text}`),
  );

  it("the parser never throws, and gives the same twice", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseCommand(text);
        expect(parseCommand(text)).toEqual(parsed);
        if (!text.startsWith("/")) expect(parsed).toHaveProperty("usage");
        if ("usage" in parsed) expect(parsed.usage.length).toBeLessThan(1000);
      }),
      { numRuns: cases(3000) },
    );
  });
});
