import { basename } from "node:path";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { Skill, SkillRegistry } from "../agents/skills/skill.ts";
import {
  digestSkill,
  listSkillFiles,
  readSkillText,
  skillHash,
} from "../agents/skills/skill-files.ts";
import type { ProjectConfigFile } from "../control/load-config.ts";
import type { ControlView } from "../control/records/control-view.ts";
import { MandateError } from "../ports/mandate-error.ts";

/** Content that came with a project, as it is now. It has no effect until its hash is trusted. */
export interface WaitingContent {
  readonly kind: "configuration" | "profile" | "skill";
  readonly name: string;
  /** The description that the untrusted content gives of itself. */
  readonly description?: string;
  /** A file, a folder, or a path in a configuration. */
  readonly file: string;
  readonly hash: string;
  /** Earlier content of the same file was trusted. */
  readonly isChanged?: true;
}

/** The sources of untrusted content. */
export interface WaitingSources {
  waitingFiles(): readonly ProjectConfigFile[];
  readonly profiles: Pick<ProfileRegistry, "pending">;
  readonly skills: Pick<SkillRegistry, "waiting">;
  readonly view: Pick<ControlView, "trustedFiles">;
}

export function waitingContent(sources: WaitingSources): readonly WaitingContent[] {
  const all: readonly WaitingContent[] = [
    ...sources.waitingFiles().map(({ file, hash }) => {
      return { kind: "configuration" as const, name: basename(file), file, hash };
    }),
    ...sources.profiles.pending().map(({ fields, name, origin, untrustedHash = "" }) => {
      const { description } = fields;
      const about = description === undefined ? { name } : { name, description };
      return { kind: "profile" as const, ...about, file: origin, hash: untrustedHash };
    }),
    ...sources.skills.waiting().map(({ description, folder, name, untrustedHash = "" }) => {
      return { kind: "skill" as const, name, description, file: folder, hash: untrustedHash };
    }),
  ];
  const trusted = sources.view.trustedFiles();
  return all.map((each) => (trusted.has(each.file) ? { ...each, isChanged: true } : each));
}

/** One line about untrusted content, for a person who starts work; undefined without such content. */
export function describeWaiting(
  waiting: readonly WaitingContent[],
  program: string,
): string | undefined {
  if (waiting.length === 0) return undefined;
  const changed = waiting.filter(({ isChanged }) => isChanged === true).length;
  const shown = waiting.slice(0, 3).map(({ kind, name }) => `${kind} ${name}`);
  const more = waiting.length > 3 ? ` and ${waiting.length - 3} more` : "";
  const since = changed === 0 ? "" : ` (${changed} changed since it was trusted)`;
  return `Not trusted, so without effect: ${shown.join(", ")}${more}${since}. Look and decide: ${program} profiles`;
}

/** All content that would take effect if a person trusted it. */
export interface WaitingBody extends WaitingContent {
  /** The fields of a profile as written, including those that would start a program. */
  readonly fields: readonly { readonly field: string; readonly value: unknown }[];
  readonly prompt: string;
  /** The files of a skill or a configuration; a null text is binary, or too large. */
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly text: string | null;
  }[];
}

const mostText = 1024 * 1024;

/** Throws "conflict" when this content no longer waits: it changed, or is trusted. */
export function requireWaiting(sources: WaitingSources, hash: string): WaitingContent {
  const found = waitingContent(sources).find((one) => one.hash === hash);
  if (found !== undefined) return found;
  throw new MandateError(
    "conflict",
    `Nothing waits to be trusted as ${hash.slice(0, 12)}: it has changed, or it is trusted already. Look at what waits now.`,
  );
}

export function readWaiting(sources: WaitingSources, hash: string): WaitingBody {
  const waiting = requireWaiting(sources, hash);
  const config = sources.waitingFiles().find((one) => one.hash === hash);
  if (config !== undefined) {
    const { file: path, text } = config;
    const whole = [{ path, bytes: Buffer.byteLength(text), text }];
    return { ...waiting, fields: [], prompt: "", files: whole };
  }
  const skill = sources.skills.waiting().find((one) => one.untrustedHash === hash);
  if (skill !== undefined) return { ...waiting, fields: [], prompt: "", files: filesOf(skill) };
  const layer = sources.profiles.pending().find((one) => one.untrustedHash === hash);
  const { prompt = "", ...fields } = layer?.fields ?? {};
  const rows = Object.entries(fields).map(([field, value]) => ({ field, value }));
  return { ...waiting, fields: rows, prompt, files: [] };
}

/** Read again, so that exactly the content with this hash is shown. */
function filesOf(skill: Skill): WaitingBody["files"] {
  const listed = listSkillFiles(skill.folder);
  const digest = digestSkill(skill.folder, listed);
  if (skillHash(skill.name, digest) !== skill.untrustedHash) {
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
