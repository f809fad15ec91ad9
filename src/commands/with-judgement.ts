import { readdirSync } from "node:fs";
import { readRegularFile } from "../documents/read-regular-file.ts";
import type { AgentFile } from "../profiles/foreign/agent-file.ts";
import { maximumProfileBytes } from "../profiles/parse-markdown-profile.ts";
import { profileFile } from "../profiles/read-profile-file.ts";
import { shippedProfiles } from "../profiles/shipped-profiles.ts";
import { shippedScopes, shippedTools } from "../tools/shipped-tools.ts";
import { judgeFields, type NamesForCheck } from "./judge-fields.ts";

/** What a check of files can know without a program: what is shipped, and what lies beside them. */
export function namesForCheck(
  files: readonly AgentFile[],
  { skill, server }: Pick<NamesForCheck, "skill" | "server">,
): NamesForCheck {
  const shipped = readdirSync(shippedProfiles.path).map((file) => file.replace(profileFile, ""));
  const checked = files.flatMap(({ agents }) => agents.map(({ name }) => name));
  return {
    tool: shippedTools,
    scope: shippedScopes,
    profile: new Set([...shipped, ...checked]),
    ...(skill && { skill }),
    ...(server && { server }),
  };
}

/** A report on a profile of ours with what is wrong beyond its syntax, each at its line. */
export function withJudgement(file: AgentFile, known: NamesForCheck): AgentFile {
  if (file.format !== "mandate") return file;
  const found = file.agents.flatMap(({ fields }) => judgeFields(fields, known));
  if (found.length === 0) return file;
  const lines = linesOf(file.file);
  const diagnostics = found.map(({ name, ...finding }) => {
    const line = name === undefined ? 0 : lines.findIndex((text) => text.includes(name)) + 1;
    return line > 0 ? { ...finding, line } : finding;
  });
  const isWrong = diagnostics.some(({ severity }) => severity === "error");
  return {
    ...file,
    status: isWrong ? "error" : file.status === "ok" ? "warning" : file.status,
    diagnostics: [...file.diagnostics, ...diagnostics],
  };
}

function linesOf(file: string): readonly string[] {
  try {
    return readRegularFile(file, maximumProfileBytes).toString("utf8").split("\n");
  } catch {
    return [];
  }
}
