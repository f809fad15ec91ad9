import type { ToolRule } from "../../contracts/tool-rule.ts";
import type { ProfileFields } from "../profile.ts";
import type { AgentFormat } from "./agent-file.ts";
import { readNames } from "./names.ts";
import { isRecord, recordOf } from "./plain-data.ts";
import { toMatches } from "./tool-patterns.ts";
import { shorten, type ToolsPlace } from "./tools-place.ts";

export interface ReadSkills {
  readonly fields: Pick<ProfileFields, "skills">;
  readonly rules: readonly ToolRule[];
  /** It says how skills are found, and not which of them may be used. */
  readonly isSettings?: boolean;
}

export function readSkills(value: unknown, format: AgentFormat, place: ToolsPlace): ReadSkills {
  if (isRecord(value) && (format === "codex" || Array.isArray(value["config"]))) {
    return { fields: {}, rules: disabledSkills(value["config"]), isSettings: true };
  }
  const names = readNames(value, place);
  if (names === "*") return { fields: { skills: "*" }, rules: [] };
  const skills = names.filter((name) => /^[^\s*]{1,256}$/.test(name));
  for (const name of names.filter((each) => !skills.includes(each))) {
    place.findings.lose(place.field, "narrowed", `${shorten(name)} is not one skill's name`);
  }
  return { fields: { skills }, rules: [] };
}

/** Codex switches single skills off, by their folder or by name. */
function disabledSkills(config: unknown): readonly ToolRule[] {
  const tool = "load_skill";
  return (Array.isArray(config) ? config : []).flatMap((entry): readonly ToolRule[] => {
    const { enabled, name, path } = recordOf(entry);
    if (enabled === undefined || enabled === true) return [];
    const folder = String(path ?? "").replace(/[\\/]+(?:SKILL\.md)?$/i, "");
    const named = String(name ?? folder.split(/[\\/]/).at(-1));
    const matches = toMatches(tool, named, "deny");
    if (matches === undefined) return [{ tool, action: "deny" }];
    return matches.map((match) => ({ tool, match, action: "deny" }));
  });
}
