import { MandateError } from "../ports/mandate-error.ts";
import type { ProfileRegistry } from "../profiles/profile-registry.ts";
import { readSkillText } from "../skills/read-skill-text.ts";
import type { Skill, SkillRegistry } from "../skills/skill.ts";
import { digestSkill, listSkillFiles } from "../skills/skill-files.ts";
import { type WaitingContent, waitingContent } from "./waiting-content.ts";

/** All that would count if somebody trusted it, as it is now. */
export interface WaitingBody extends WaitingContent {
  /** Of a profile: as they were written, also what would start a program. */
  readonly fields: readonly { readonly field: string; readonly value: unknown }[];
  readonly prompt: string;
  /** Of a skill; null: it is not text, or there is no room for it. */
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly text: string | null;
  }[];
}

interface Sources {
  readonly profiles: Pick<ProfileRegistry, "pending">;
  readonly skills: Pick<SkillRegistry, "all">;
}

const mostText = 1024 * 1024;

/** Throws "conflict" when exactly this waits no more: it changed, or somebody trusted it. */
export function requireWaiting(sources: Sources, hash: string): WaitingContent {
  const found = waitingContent(sources).find((one) => one.hash === hash);
  if (found !== undefined) return found;
  throw new MandateError(
    "conflict",
    `Nothing waits to be trusted as ${hash.slice(0, 12)}: it changed meanwhile, or it is trusted already. Look at what waits now.`,
  );
}

export function readWaiting(sources: Sources, hash: string): WaitingBody {
  const waiting = requireWaiting(sources, hash);
  const skill = sources.skills.all().find((one) => one.unacknowledged === hash);
  if (skill !== undefined) return { ...waiting, fields: [], prompt: "", files: filesOf(skill) };
  const layer = sources.profiles.pending().find((one) => one.unacknowledged === hash);
  const { prompt = "", ...fields } = layer?.fields ?? {};
  const rows = Object.entries(fields).map(([field, value]) => ({ field, value }));
  return { ...waiting, fields: rows, prompt, files: [] };
}

/** Read again: what is shown is what has this hash, and nothing that came since. */
function filesOf(skill: Skill): WaitingBody["files"] {
  const listed = listSkillFiles(skill.folder);
  const digest = digestSkill(skill.folder, listed);
  if (digest.hash !== skill.unacknowledged) {
    throw new MandateError(
      "conflict",
      `The skill ${JSON.stringify(skill.name)} changed while it was looked at. Look at it again.`,
    );
  }
  let room = mostText;
  const files = [...digest.files.keys()].map((path) => {
    const read = readSkillText({ skill, entry: path, stamp: "", digest }, path);
    const isShown = read.text !== undefined && !read.isCut && read.text.length <= room;
    if (isShown) room -= read.text.length;
    return { path, bytes: read.size, text: isShown ? read.text : null };
  });
  const links = [...listed.links].map(([path, target]) => {
    return { path, bytes: 0, text: `A link to ${target}` };
  });
  return [...files, ...links];
}
