import { existsSync } from "node:fs";
import { join } from "node:path";
import { agentPlaces } from "../../workspaces/protected/protected-paths.ts";

/** The well-known places of other programs that a project has, to be read where they are. */
export function discoverAgentPlaces(projectFolder: string): readonly string[] {
  return agentPlaces.map((place) => join(projectFolder, place)).filter((path) => existsSync(path));
}
