import type { Diagnostic } from "../agents/foreign/agent-file.ts";
import type { CutField } from "../agents/profiles/profile.ts";
import type { ProfileRegistry } from "../agents/profiles/profile-registry.ts";
import type { SkillRegistry } from "../agents/skills/skill.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { shippedScopes, shippedTools } from "../tools/shipped-tools.ts";
import { judgeFields } from "./commands/judge-fields.ts";
import type { WaitingContent, WaitingSources } from "./waiting-content.ts";

interface JudgedSources extends WaitingSources {
  readonly profiles: Pick<ProfileRegistry, "afterTrust" | "names" | "pending">;
  readonly skills: Pick<SkillRegistry, "all" | "waiting">;
  /** The names of the configured MCP servers. */
  readonly servers: ReadonlySet<string>;
}

/** What a person should know before they trust it: what is wrong with it, and what it cannot have. */
function judgeWaiting(
  control: JudgedSources,
  { hash, name }: WaitingContent,
  /** Tools that a program brings, beside those that are shipped. */
  tools: readonly string[] = [],
): readonly Diagnostic[] {
  const file = control.waitingFiles().find((each) => each.hash === hash);
  if (file !== undefined) {
    if (file.problem !== undefined) return [{ severity: "error", message: file.problem }];
    return (file.notTaken ?? []).map((message) => ({ severity: "warning", message }));
  }
  const layer = control.profiles.pending().find((each) => each.untrustedHash === hash);
  if (layer === undefined) return [];
  const skills = [...control.skills.all(), ...control.skills.waiting()];
  const known = {
    tool: new Set([...shippedTools, ...tools]),
    scope: shippedScopes,
    server: control.servers,
    skill: new Set(skills.map((skill) => skill.name)),
    profile: new Set([
      ...control.profiles.names(),
      ...control.profiles.pending().map((each) => each.name),
    ]),
  };
  const found = layer.isForeign === true ? [] : judgeFields(layer.fields, known);
  const cut = control.profiles.afterTrust(name)?.project?.cut ?? [];
  return [
    ...found.map(({ name: _name, ...diagnostic }) => diagnostic),
    ...cut.filter(({ origin }) => origin === layer.origin).map(describeCut),
  ];
}

/** Throws "profile-invalid" for what could not be used: trusting it would be a promise of nothing. */
export function requireTrustable(
  control: JudgedSources,
  waiting: WaitingContent,
  tools: readonly string[] = [],
): readonly Diagnostic[] {
  const found = judgeWaiting(control, waiting, tools);
  const wrong = found.filter(({ severity }) => severity === "error");
  if (wrong.length === 0) return found;
  const reasons = wrong.map(({ message }) => message).join("; ");
  throw new MandateError(
    waiting.kind === "configuration" ? "config-invalid" : "profile-invalid",
    `"${waiting.name}" is not trusted, because it could not be used: ${reasons}. Correct ${waiting.file} first.`,
  );
}

/** For people: `limits.tokens: asks for 500, gets 50`. */
export function describeCut({ asked, field, kept }: CutField): Diagnostic {
  const gets = kept === undefined ? "is not taken" : `counts as ${JSON.stringify(kept)}`;
  const message = `${field}: ${JSON.stringify(asked)} ${gets}: a project's file only narrows a profile that you already have`;
  return { severity: "warning", message };
}
