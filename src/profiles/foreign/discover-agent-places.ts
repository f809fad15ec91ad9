import { existsSync } from "node:fs";
import { join } from "node:path";

/** Where the programs that people use keep the agents of a project. */
const places = [
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

/** All of them, also those that a project does not have yet: nobody's child shall make one. */
export function agentPlaces(projectFolder: string): readonly string[] {
  return places.map((place) => join(projectFolder, place));
}

/** The well-known places of other programs that a project has, to be read where they are. */
export function discoverAgentPlaces(projectFolder: string): readonly string[] {
  return agentPlaces(projectFolder).filter((path) => existsSync(path));
}
