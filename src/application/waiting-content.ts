import { basename } from "node:path";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { SkillRegistry } from "../agents/skills/skill.ts";
import type { ProjectConfigFile } from "../control/load-config.ts";
import type { ControlView } from "../control/records/control-view.ts";

/** What came with a project, as it is now. It has no effect until its hash is trusted. */
export interface WaitingContent {
  readonly kind: "configuration" | "profile" | "skill";
  readonly name: string;
  /** A file, a folder, or a place in a configuration. */
  readonly file: string;
  readonly hash: string;
  /** Earlier content of the same place was trusted. */
  readonly isChanged?: true;
}

/** What knows of content that waits. */
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
    ...sources.profiles.pending().map(({ name, origin, untrustedHash = "" }) => {
      return { kind: "profile" as const, name, file: origin, hash: untrustedHash };
    }),
    ...sources.skills.waiting().map(({ folder, name, untrustedHash = "" }) => {
      return { kind: "skill" as const, name, file: folder, hash: untrustedHash };
    }),
  ];
  const trusted = sources.view.trustedFiles();
  return all.map((each) => (trusted.has(each.file) ? { ...each, isChanged: true } : each));
}

/** One line for a person who starts work: what is there and does nothing; undefined: nothing is. */
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
