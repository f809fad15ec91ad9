import { escapeXml } from "./escape-xml.ts";
import type { Profile } from "./profile.ts";

const maximumDescription = 300;

/**
 * What a parent is told about the profiles it can spawn. Empty when there are none, which saves the
 * tokens. Names and texts come from files, so they are escaped: a description cannot close the tag.
 */
export function spawnProfilesBlock(profiles: readonly Profile[]): string {
  if (profiles.length === 0) return "";
  const lines = profiles.map(
    (profile) =>
      `  <profile name="${escapeXml(profile.name)}">${escapeXml(describe(profile))}</profile>`,
  );
  return ["<available_spawn_profiles>", ...lines, "</available_spawn_profiles>"].join("\n");
}

function describe({ description, tools }: Profile): string {
  const line = description.replaceAll(/\s+/g, " ").trim();
  const short = line.length > maximumDescription ? `${line.slice(0, maximumDescription)}…` : line;
  const sentence = /[.!?…]$/.test(short) ? short : `${short}.`;
  if (tools === undefined || tools === "*") return sentence;
  return `${sentence} Tools: ${tools.length === 0 ? "none" : tools.join(", ")}.`;
}
