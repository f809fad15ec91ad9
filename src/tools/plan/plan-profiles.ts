import type { Profile } from "../../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../../agents/profiles/profile-registry.ts";

/** Who can be given a step. */
export interface PlanProfiles {
  /** Undefined: the name is unknown. */
  find(name: string): { readonly writes: boolean } | { readonly problem: string } | undefined;
  /** Those that a plan can name, for hints. */
  names(): readonly string[];
}

/** `behind`: the profile that a handle leads to, or the name itself. */
export function planProfiles(
  registry: Pick<ProfileRegistry, "get" | "problemOf" | "offered">,
  behind: (name: string) => string | undefined,
): PlanProfiles {
  return {
    find(name) {
      const id = behind(name);
      const profile = id === undefined ? undefined : registry.get(id);
      if (profile !== undefined) return judge(profile);
      const problem = id === undefined ? undefined : registry.problemOf(id)?.message;
      return problem === undefined ? undefined : { problem };
    },
    names: () => registry.offered().map(({ name }) => name),
  };
}

function judge(profile: Profile): { readonly writes: boolean } | { readonly problem: string } {
  const { capabilities } = profile;
  if (capabilities.some((each) => each === "subtask" || each === "orchestrator")) {
    return { writes: canWrite(profile) };
  }
  return { problem: `it is a profile for ${capabilities.join(" and ")} agents only.` };
}

/** Changes nothing, whatever it is called with. A tool that is not here may. */
const harmless: ReadonlySet<string> = new Set([
  ...["read_file", "list_files", "glob", "grep", "document_query", "load_skill"],
  ...["web_fetch", "web_search", "search", "memory_load", "memory_save"],
  ...["complete_task", "submit_for_review", "ask_user"],
  ...["list_sub_agents", "get_delegation_result", "peek_result", "search_result", "slice_result"],
]);

/** In doubt yes: two that only might write wait for each other, and nothing is lost but time. */
function canWrite({ tools, workspace }: Profile): boolean {
  if (workspace?.allowWrites === false) return false;
  return tools === undefined || tools === "*" || tools.some((tool) => !harmless.has(tool));
}
