import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDeniedOutright, judgeByRules, matchGlob } from "./judge-by-rules.ts";
import type { ToolRule } from "./tool-rule.ts";

const path = (...values: string[]) => ({ kind: "path" as const, values });
const text = (...values: string[]) => ({ kind: "text" as const, values });

describe("rules for calls", () => {
  it("say nothing about a tool that none of them names", () => {
    expect(judgeByRules([[{ tool: "shell", action: "deny" }]], "grep", undefined)).toBe("allow");
    expect(judgeByRules([], "grep", undefined)).toBe("allow");
  });

  it("decide by the last one that matches", () => {
    const rules: ToolRule[] = [
      { tool: "shell", match: "*", action: "ask" },
      { tool: "shell", match: "git *", action: "allow" },
      { tool: "shell", match: "git push*", action: "deny" },
    ];
    expect(judgeByRules([rules], "shell", text("git log -- a/b"))).toBe("allow");
    expect(judgeByRules([rules], "shell", text("git push origin"))).toBe("deny");
    expect(judgeByRules([rules], "shell", text("rm -rf /"))).toBe("ask");
    expect(judgeByRules([rules], "shell", text("git log", "rm x"))).toBe("ask");
  });

  it("take the stricter reading where a tool does not say what a call is about", () => {
    const allowed: ToolRule[] = [
      { tool: "shell", action: "deny" },
      { tool: "shell", match: "git *", action: "allow" },
    ];
    expect(judgeByRules([allowed], "shell", undefined)).toBe("deny");
    const denied: ToolRule[] = [{ tool: "shell", match: "rm *", action: "deny" }];
    expect(judgeByRules([denied], "shell", undefined)).toBe("deny");
  });

  it("bind by each list: nobody below lifts what somebody above forbade", () => {
    const above: ToolRule[] = [{ tool: "write_file", match: "secrets/*", action: "deny" }];
    const below: ToolRule[] = [{ tool: "write_file", action: "allow" }];
    expect(judgeByRules([above, below], "write_file", path("secrets/key"))).toBe("deny");
    expect(judgeByRules([below, above], "write_file", path("secrets/a/b"))).toBe("deny");
    expect(judgeByRules([above, below], "write_file", path("docs/a.md"))).toBe("allow");
  });

  it("let an exception for paths reach no further than it says", () => {
    const rules: ToolRule[] = [
      { tool: "write_file", action: "deny" },
      { tool: "write_file", match: "docs/*.md", action: "allow" },
      { tool: "write_file", match: "notes/**/*.md", action: "allow" },
    ];
    const judge = (file: string) => judgeByRules([rules], "write_file", path(file));
    expect(judge("docs/a.md")).toBe("allow");
    expect(judge("docs/a/b.md")).toBe("deny");
    expect(judge("notes/a.md")).toBe("allow");
    expect(judge("notes/a/b.md")).toBe("allow");
    expect(judge("notes.md")).toBe("deny");
    const exact: ToolRule[] = [
      { tool: "write_file", action: "deny" },
      { tool: "write_file", match: "src/**/a.ts", action: "allow" },
    ];
    const within = (file: string) => judgeByRules([exact], "write_file", path(file));
    expect(["src/a.ts", "src/x/a.ts", "src/x/y/a.ts"].map(within)).toEqual(Array(3).fill("allow"));
    expect(["src/ba.ts", "src/x/ba.ts", "srca.ts"].map(within)).toEqual(Array(3).fill("deny"));
  });

  it.each([
    ["**/.env", ".env"],
    ["**/.env", "a/b/.env"],
    ["src/**/secret.ts", "src/secret.ts"],
    ["secrets/**", "secrets"],
    ["secrets/*", "secrets/a/b"],
    ["./secrets/*", "secrets/a"],
    ["/secrets/**", "secrets/a"],
  ])("that forbid %s forbid %s", (match, value) => {
    expect(
      judgeByRules([[{ tool: "read_file", match, action: "deny" }]], "read_file", path(value)),
    ).toBe("deny");
  });

  it("forbid a tool outright when no call of it can pass", () => {
    const deny: ToolRule = { tool: "shell", action: "deny" };
    const except: ToolRule = { tool: "shell", match: "git *", action: "allow" };
    expect(isDeniedOutright([[deny]], "shell")).toBe(true);
    expect(isDeniedOutright([[deny, except]], "shell")).toBe(false);
    expect(isDeniedOutright([[except, deny]], "shell")).toBe(true);
    expect(isDeniedOutright([[{ tool: "*", action: "deny" }]], "shell")).toBe(true);
    expect(isDeniedOutright([[{ tool: "mcp__a__*", action: "deny" }]], "mcp__a__x")).toBe(true);
    expect(isDeniedOutright([[]], "shell")).toBe(false);
  });
});

describe("a glob", () => {
  it.each([
    ["*", "", true],
    ["a*c", "abbc", true],
    ["a*c", "abbd", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["[a]", "a", false],
    ["git *", "git", false],
  ])("%j and %j: %s", (pattern, value, expected) => {
    expect(matchGlob(pattern, value)).toBe(expected);
  });

  it("is never slow, whoever wrote it", () => {
    expect(matchGlob(`${"*a".repeat(200)}b`, "a".repeat(2000))).toBe(false);
    expect(matchGlob("a*b**/c", "ab-xbc")).toBe(true);
  });

  it("without stars is the text itself", () => {
    const plain = fc.string().filter((each) => !/[*?]/.test(each));
    fc.assert(fc.property(plain, plain, (one, other) => matchGlob(one, other) === (one === other)));
  });
});
