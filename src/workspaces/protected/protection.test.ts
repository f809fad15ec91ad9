import { describe, expect, it } from "vitest";
import { agentPlaces, protectedPaths } from "./protected-paths.ts";
import { protectionOf } from "./protection.ts";

const root = "/home/me/project";
const isProtected = (path: string, at = root) => protectionOf(at, path) !== undefined;

/** A path that an entry of the list is about. */
const example = (path: string) => path.replace("*", ".local");

describe("what the list protects", () => {
  it("is protected at any depth, with all that is below it", () => {
    for (const { path, atRoot } of protectedPaths) {
      const name = example(path);
      expect(isProtected(name), name).toBe(true);
      expect(isProtected(`${name}/x/y`), name).toBe(true);
      expect(isProtected(`a/b/c/d/e/${name}`), name).toBe(atRoot !== true);
    }
  });

  it("is protected in every spelling that some file system takes for it", () => {
    const spellings = [
      ...[".GIT/config", ".Git/config", "git~1/config", "GIT~2/x", ".git /config", ".git./x"],
      ...[".git::$INDEX_ALLOCATION/config", ".g\u200cit/config", "a\\.git\\config"],
      ...[".Claude/Settings.JSON", ".claude/\u017fettings.json", ".claude/settin~1.jso"],
      ...[".MCP.json", "mcp~1.jso", ".ENVRC", ".envrc.", "mandat~1/x", ".mandate\ufeff/x"],
      ...["MANDATE.YAML", ".Codex/config.toml", "codex~1/config.toml", "OPENCODE.json"],
    ];
    for (const path of spellings) expect(isProtected(path), path).toBe(true);
  });

  it("is protected where a link could bring it along", () => {
    for (const path of [".claude", "a/.cursor", ".vscode", "x/.github"]) {
      expect(isProtected(path), path).toBe(true);
    }
  });

  it("holds every place that agents of other programs are read from", () => {
    for (const place of agentPlaces) expect(isProtected(`${place}/x.md`), place).toBe(true);
  });

  it("includes the workspace that is itself the folder around it", () => {
    expect(isProtected("settings.json", "/home/me/project/.claude")).toBe(true);
    expect(isProtected("mcp.json", "/home/me/project/.vscode")).toBe(true);
    expect(isProtected("settings.json", "/home/me/project/claude")).toBe(false);
  });

  it("says which entry it is and why", () => {
    expect(protectionOf(root, "a/.claude/settings.local.json")).toEqual({
      rule: ".claude/settings*.json",
      reason: expect.stringMatching(/^Claude Code obeys it/),
    });
  });
});

describe("what the list leaves open", () => {
  it("is what a program obeys only when a person asks it to", () => {
    const open = [
      ...[".github/workflows/ci.yml", ".github/CODEOWNERS", ".vscode/settings.json", ".husky/x"],
      ...["package.json", "Makefile", ".gitignore", ".gitattributes", ".gitmodules", ".env"],
      ...["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", ".cursor/rules/a.mdc", ".kiro/specs/a.md"],
      ...["src/config", "HEAD.md", "docs/refs/a.md", "objects/a.txt", "git/x", ".github.md"],
      ...[
        "src/agents/profiles/a.md",
        "profiles/a.json",
        "mandate.yml",
        "a.git/x",
        ".gitkeep",
        "settings.json",
      ],
      ...[
        "x/claude/settings.json",
        ".mandate-notes",
        "tests/mandate.yaml.example",
        ".envrc.example",
      ],
    ];
    for (const path of open) expect(isProtected(path), path).toBe(false);
  });

  it("is a working copy, although the home around it may bear a protected name", () => {
    expect(isProtected("src/main.ts", "/home/me/.mandate/worktrees/a1")).toBe(false);
    expect(isProtected("src/main.ts", "/home/me/.codex/x")).toBe(false);
  });
});
