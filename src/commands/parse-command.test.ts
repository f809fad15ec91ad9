import fc from "fast-check";
import { describe, expect, it } from "vitest";
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
      expect(usage(text)).toBe("A command begins with a slash: /agents");
    }
  });

  it("is known, or the nearest known one is named", () => {
    expect(usage("/agnts")).toBe('There is no command "/agnts". Did you mean /agents?');
    expect(usage("/Agents")).toBe('There is no command "/Agents". Did you mean /agents?');
    expect(usage("/agents\u200b list")).toBe(
      'There is no command "/agents\ufffd". Did you mean /agents?',
    );
    expect(usage("/launch the rockets")).toBe('There is no command "/launch". There are: /agents.');
    expect(usage("/")).toBe('There is no command "/". There are: /agents.');
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
      { agentId: "@w1", description: "New" },
    ],
    [
      "/agents set-profile @w1 | coder",
      "agents set-profile",
      { agentId: "@w1", profileId: "coder" },
    ],
    ["/agents set-tags @w1 | a, b c", "agents set-tags", { agentId: "@w1", tags: ["a", "b c"] }],
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
    ["/agents register @w1 | writer | a\u202eb", "It contains U+202E, which nobody would see."],
    ["/agents register @w1 | writer | a\u200bb", "It contains U+200B, which nobody would see."],
    ["/agents register @w1 | writer | a\u0000b", "It contains U+0000, which nobody would see."],
    ["/agents register @w1 | writer | a\u2028b", "It contains U+2028, which nobody would see."],
    ["/agents register @w1 | writer | a\ud800b", "It contains U+D800, which nobody would see."],
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
  ])("says what is wrong, and the form: %j", (text, problem) => {
    const said = usage(text);
    expect(said).toContain(problem);
    expect(said).toMatch(/^Usage: \/agents|\nUsage: \/agents|There is no command/);
  });
});

describe("whatever the text", () => {
  it("is judged at once, also when it is made of a megabyte of blanks", () => {
    const blanks = " ".repeat(1_000_000);
    const bombs = [`/${blanks}x`, `/agents${blanks}x`, `/agents list${blanks}x`];
    bombs.push(`/agents show @w${"\n".repeat(1_000_000)}x`, `/${"a".repeat(1_000_000)}`);
    const started = performance.now();
    for (const bomb of bombs) expect(usage(bomb)).not.toBe("accepted");
    expect(performance.now() - started).toBeLessThan(500);
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
  );
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
    fc.array(pieces, { maxLength: 12 }).map((parts) => `/agents ${parts.join(" ")}`),
  );

  it("the parser never throws, and gives the same twice", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseCommand(text);
        expect(parseCommand(text)).toEqual(parsed);
        if (!text.startsWith("/")) expect(parsed).toHaveProperty("usage");
        if ("usage" in parsed) expect(parsed.usage.length).toBeLessThan(1000);
      }),
      { numRuns: 3000 },
    );
  });
});
