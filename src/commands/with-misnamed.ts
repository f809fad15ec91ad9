import { readdirSync } from "node:fs";
import { readRegularFile } from "../documents/read-regular-file.ts";
import type { AgentFile, Diagnostic } from "../profiles/foreign/agent-file.ts";
import { maximumProfileBytes } from "../profiles/parse-markdown-profile.ts";
import { profileFile } from "../profiles/read-profile-file.ts";
import { shippedProfiles } from "../profiles/shipped-profiles.ts";
import { findMisnamed, type KnownNames, type Misnamed } from "../tools/find-misnamed.ts";
import { shippedScopes, shippedTools } from "../tools/shipped-tools.ts";

/** What a check of files can know without a program: what is shipped, and what lies beside them. */
export function namesForCheck(
  files: readonly AgentFile[],
  skill: ReadonlySet<string> | undefined,
): KnownNames {
  const shipped = readdirSync(shippedProfiles.path).map((file) => file.replace(profileFile, ""));
  const checked = files.flatMap(({ agents }) => agents.map(({ name }) => name));
  return {
    tool: shippedTools,
    scope: shippedScopes,
    profile: new Set([...shipped, ...checked]),
    ...(skill && { skill }),
  };
}

/**
 * Names in a profile of ours that are nobody's. What is like a known one is a slip, and the profile
 * would not be started; what is like none may be known to a program, or on another machine.
 */
export function withMisnamed(file: AgentFile, known: KnownNames): AgentFile {
  if (file.format !== "mandate") return file;
  const found = file.agents.flatMap(({ fields }) => findMisnamed(fields, known));
  // A rule for what is not here takes nothing away.
  const told = found.filter(({ field, meant }) => meant !== undefined || field !== "toolRules");
  if (told.length === 0) return file;
  const lines = linesOf(file.file);
  const diagnostics = told.map((each) => diagnosticOf(each, lines));
  const isSlip = diagnostics.some(({ severity }) => severity === "error");
  return {
    ...file,
    status: isSlip ? "error" : file.status === "ok" ? "warning" : file.status,
    diagnostics: [...file.diagnostics, ...diagnostics],
  };
}

function diagnosticOf(
  { field, kind, meant, name }: Misnamed,
  lines: readonly string[],
): Diagnostic {
  const line = lines.findIndex((text) => text.includes(name)) + 1;
  const place = line > 0 ? { line } : {};
  const what = `${field}: there is no ${kind} "${name}"`;
  return meant === undefined
    ? { severity: "warning", ...place, message: `${what} here; it counts only where there is one` }
    : { severity: "error", ...place, message: `${what}; did you mean "${meant}"?` };
}

function linesOf(file: string): readonly string[] {
  try {
    return readRegularFile(file, maximumProfileBytes).toString("utf8").split("\n");
  } catch {
    return [];
  }
}
