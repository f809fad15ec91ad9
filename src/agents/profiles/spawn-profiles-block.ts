import { clip, escapeXml, oneLine } from "../../text.ts";
import { catalogueBlock, type ListRoom, rankByText } from "../documents/catalogue.ts";
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
  room?: ListRoom,
): string {
  return catalogueBlock({
    tag: "available_spawn_profiles",
    items: profiles,
    room,
    lineOf: (profile) =>
      `<profile name="${escapeXml(profile.name)}">${escapeXml(describe(profile, isGrantable))}</profile>`,
    textOf,
  });
}

function textOf({ description, name, tools }: Profile): string {
  // The name counts twice: a query that says it means it.
  return [name, name, description, ...(tools === "*" ? [] : (tools ?? []))].join(" ");
}

/** The profiles that fit a query best; without a query all of them, by name. */
export function searchProfiles(profiles: readonly Profile[], query: string): readonly Profile[] {
  return query.trim() === "" ? profiles : rankByText(profiles, query, textOf);
}

function describe({ description, tools }: Profile, isGrantable: (tool: string) => boolean): string {
  const short = clip(oneLine(description), maximumDescription + 1);
  const sentence = /[.!?…]$/.test(short) ? short : `${short}.`;
  if (tools === undefined || tools === "*") return sentence;
  if (tools.length === 0) return `${sentence} Tools: none.`;
  const grantable = tools.filter(isGrantable);
  return grantable.length === 0 ? sentence : `${sentence} Tools: ${grantable.join(", ")}.`;
}
