import { oneLine } from "../../text.ts";
import { escapeXml } from "../profiles/escape-xml.ts";
import type { Skill } from "./skill.ts";

/**
 * The part of a prompt that lists the skills an agent can load: the same text for the same skills, since
 * providers cache by prefix. Empty when there are none. Names and texts come from files, so they
 * are escaped: a description cannot close the tag.
 */
export function skillsBlock(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const lines = [...skills]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(
      ({ name, description }) =>
        `  <skill name="${escapeXml(name)}">${escapeXml(oneLine(description))}</skill>`,
    );
  return ["<available_skills>", ...lines, "</available_skills>"].join("\n");
}
