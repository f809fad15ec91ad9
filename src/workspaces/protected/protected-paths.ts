/** Where popular programs look for the agents of a project. */
export const agentPlaces: readonly string[] = [
  ".claude/agents",
  ".opencode/agent",
  ".opencode/agents",
  ".opencode/mode",
  ".opencode/modes",
  ".opencode/opencode.json",
  ".opencode/opencode.jsonc",
  "opencode.json",
  "opencode.jsonc",
  ".gemini/agents",
  ".codex/agents",
  ".github/agents",
  ".github/chatmodes",
  ".cursor/agents",
  ".kiro/agents",
  ".pi/agents",
  ".roomodes",
  ".goose/recipes",
  ".goose/agents",
  ".agents/agents",
];

/** A path that some program on a person's machine obeys merely because it exists. */
export interface ProtectedPath {
  /** Names below any folder; `*` is any part of one name. Everything below is protected as well. */
  readonly path: string;
  /** The program that obeys the path, and how. */
  readonly reason: string;
  /** Protected only below the root of a workspace: deeper down the name is ordinary. */
  readonly atRoot?: true;
  /**
   * Every program ignores an empty folder of this name, so one can stand there while a command
   * runs.
   */
  readonly isFolder?: true;
}

const settings = "can name programs that start by themselves";
const list = (reason: string, ...paths: string[]): readonly ProtectedPath[] =>
  paths.map((path) => ({ path, reason }));
const folders = (reason: string, ...paths: string[]): readonly ProtectedPath[] =>
  paths.map((path) => ({ path, reason, isFolder: true }));

/**
 * Paths that agents cannot write, in their own folder or in a working copy that is merged. A path
 * is in this list if a program obeys it without being asked: because a person opens the folder,
 * changes into it, or starts an agent, an editor or a prompt with version control there. A path
 * that takes effect only after a person runs something (`package.json`, `Makefile`, workflows,
 * hooks of `.husky`) is not in the list.
 */
export const protectedPaths: readonly ProtectedPath[] = [
  ...list("git obeys its settings and hooks, which can name programs", ".git"),
  ...list("version control obeys its settings, which can name programs", ".hg", ".jj", ".sl"),
  ...list("Mandate obeys it at its next start", ".mandate", "mandate.yaml"),
  { path: "profiles/*.md", reason: "Mandate reads it at its next start", atRoot: true },
  ...list("direnv obeys it when a person changes into the folder", ".envrc"),
  ...list(`Claude Code obeys it: it ${settings}`, ".claude/settings*.json", ".mcp.json"),
  ...folders(
    `Claude Code obeys it: it ${settings}`,
    ...[".claude/hooks", ".claude/commands", ".claude/plugins", ".claude/skills"],
  ),
  ...folders(`Codex obeys it: it ${settings}`, ".codex"),
  ...folders(`Gemini CLI obeys it: it ${settings}`, ".gemini"),
  ...folders(`opencode obeys it: it ${settings}`, ".opencode"),
  ...list(`opencode obeys it: it ${settings}`, "opencode.json", "opencode.jsonc"),
  ...list(
    `Cursor obeys it: it ${settings}`,
    ...[".cursor/mcp.json", ".cursor/hooks.json", ".cursor/cli.json", ".cursor/environment.json"],
  ),
  ...folders(
    `Cursor obeys it: it ${settings}`,
    ...[".cursor/hooks", ".cursor/commands", ".cursor/skills"],
  ),
  ...list(`VS Code obeys it: it ${settings}`, ".vscode/mcp.json"),
  ...folders(`Copilot obeys it: it ${settings}`, ".github/hooks"),
  ...folders(`Kiro obeys it: it ${settings}`, ".kiro/hooks", ".kiro/settings"),
  ...list(`an editor obeys it: it ${settings}`, ".zed/settings.json", ".helix"),
  ...list(
    `another agent program obeys it: it ${settings}`,
    ...[".pi", ".continue", ".amazonq", ".factory", ".qwen", ".augment", ".junie/mcp"],
    ...[".roo/mcp.json", ".windsurf/hooks.json", ".trae/mcp.json", ".amp/settings.json"],
    ...[".aider.conf.yml", ".crush.json", "crush.json"],
  ),
  ...folders("agent programs take skills from it", ".agents/skills"),
  ...agentPlaces.map((path) => ({
    ...{ path, reason: "agent programs take agents from it" },
    ...(/\/[^.]+$/.test(path) && { isFolder: true as const }),
  })),
];
