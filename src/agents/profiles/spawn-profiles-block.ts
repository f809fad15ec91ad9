import { clip, escapeXml, oneLine } from "../../text.ts";
import type { Profile } from "./profile.ts";

const maximumDescription = 300;

/**
 * The part of a prompt that lists the profiles a parent can spawn; empty without profiles. Names
 * and texts are escaped, since they come from files. `isGrantable`: whether a child can get a tool;
 * only such tools are listed.
 */
export function spawnProfilesBlock(
  profiles: readonly Profile[],
  isGrantable: (tool: string) => boolean = () => true,
): string {
  if (profiles.length === 0) return "";
  const lines = profiles.map((profile) => {
    const text = escapeXml(describe(profile, isGrantable));
    return `  <profile name="${escapeXml(profile.name)}">${text}</profile>`;
  });
  return ["<available_spawn_profiles>", ...lines, "</available_spawn_profiles>"].join("\n");
}

function describe({ description, tools }: Profile, isGrantable: (tool: string) => boolean): string {
  const short = clip(oneLine(description), maximumDescription + 1);
  const sentence = /[.!?…]$/.test(short) ? short : `${short}.`;
  if (tools === undefined || tools === "*") return sentence;
  if (tools.length === 0) return `${sentence} Tools: none.`;
  const grantable = tools.filter(isGrantable);
  return grantable.length === 0 ? sentence : `${sentence} Tools: ${grantable.join(", ")}.`;
}
