import { z } from "zod";
import { nearestKey } from "../../agents/documents/nearest-key.ts";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../../agents/profiles/profile-registry.ts";
import { searchProfiles } from "../../agents/profiles/spawn-profiles-block.ts";
import { clip, oneLine } from "../../text.ts";
import { defineTool, type Tool } from "../tool.ts";
import { childTool } from "./delegation-call.ts";

const usualLimit = 20;
const longestDescription = 300;

const listProfilesInput = z.strictObject({
  query: z
    .string()
    .max(500)
    .optional()
    .describe("Words about the work, or part of a name; absent: all, by name."),
  limit: z.int().min(1).max(100).optional().describe(`Most profiles; ${usualLimit} when absent.`),
});

export type ProfileQuery = z.output<typeof listProfilesInput>;

export interface ListedProfiles {
  readonly profiles: readonly { readonly name: string; readonly description: string }[];
  /** How many profiles match. */
  readonly matches: number;
  /** How many profiles there are. */
  readonly total: number;
}

/** The profiles that an agent may delegate to, the best match of the query first. */
export function listProfiles(
  offered: readonly Profile[],
  { limit = usualLimit, query = "" }: ProfileQuery,
): ListedProfiles {
  const found = searchProfiles(offered, query);
  const nearest = found.length > 0 ? undefined : nearestKey(query, offered.map(nameOf));
  const matching = nearest === undefined ? found : offered.filter(({ name }) => name === nearest);
  const profiles = matching.slice(0, limit).map(({ description, name }) => {
    return { name, description: clip(oneLine(description), longestDescription) };
  });
  return { profiles, matches: matching.length, total: offered.length };
}

/** All names that an agent may delegate to; models choose from them. */
export function listProfilesTool({ offered }: Pick<ProfileRegistry, "offered">): Tool {
  return defineTool({
    name: "list_profiles",
    description:
      "List the profiles that you can delegate to, with what each is good for: the best match of the query first.",
    ...childTool,
    effect: "read",
    input: listProfilesInput,
    execute: (input) => JSON.stringify(listProfiles(offered(), input)),
  });
}

function nameOf({ name }: Profile): string {
  return name;
}
