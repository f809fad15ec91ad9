import { readdirSync } from "node:fs";
import { readRegularFile } from "../agents/documents/read-text-file.ts";
import type { AgentFile, Diagnostic, Loss } from "../agents/foreign/agent-file.ts";
import { findAgentFiles } from "../agents/foreign/find-agent-files.ts";
import { readAgentFile } from "../agents/foreign/read-agent-file.ts";
import { maximumProfileBytes } from "../agents/profiles/profile-document.ts";
import { profileFile, shippedProfiles } from "../agents/profiles/read-profile-file.ts";
import { shippedScopes, shippedTools } from "../tools/shipped-tools.ts";
import { commandTable } from "./commands/command-table.ts";
import { judgeFields, type NamesForCheck } from "./judge-waiting.ts";

/** The report on one file, in the published format. */
export interface FileReport {
  readonly file: string;
  readonly format: AgentFile["format"];
  readonly status: AgentFile["status"];
  /** The name of its only or first agent; null without agents. */
  readonly name: string | null;
  /** The names of its agents, where it holds several. */
  readonly names?: readonly string[];
  /** The names of the MCP servers that it defines; absent: none. */
  readonly servers?: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  readonly loss: readonly Loss[];
}

/**
 * Reads all agent files in these files and folders and reports on each, without changes. Names of
 * skills and servers are checked if the caller gives the known ones.
 */
export function checkAgentFiles(
  paths: readonly string[],
  root?: string,
  names: Pick<NamesForCheck, "skill" | "server"> = {},
): readonly FileReport[] {
  const found = findAgentFiles(paths).filter((file) => !isReport(file) || paths.includes(file));
  const files = found.map((file) => readAgentFile(file, root === undefined ? {} : { root }));
  const first = new Map<string, string>();
  const known = namesForCheck(files, names);
  return files.map((file) =>
    reportOf(withJudgement(withTakenWords(withTwins(file, first)), known)),
  );
}

/** Reports of children are in the same folder, in Markdown too. */
function isReport(file: string): boolean {
  return /(?:^|[\\/])\.mandate[\\/]reports[\\/]/.test(file);
}

/** Warns about trigger words that a profile asks for and does not get. */
function withTakenWords(file: AgentFile): AgentFile {
  const taken = file.agents.flatMap(({ fields, name }) =>
    (fields.triggers?.slash ?? [])
      .filter((word) => isTaken(word, name))
      .map(
        (word): Diagnostic => ({
          severity: "warning",
          ...(file.agents.length > 1 && { agent: name }),
          message: `/${word} is a command of Mandate's own, which no profile takes over; choose another word under triggers.slash`,
        }),
      ),
  );
  return withDiagnostics(file, taken);
}

function isTaken(word: string, profile: string): boolean {
  const ours = commandTable.find(({ name }) => name.split(" ")[0] === word);
  return ours !== undefined && ours.profile !== profile;
}

function withDiagnostics(file: AgentFile, more: readonly Diagnostic[]): AgentFile {
  if (more.length === 0) return file;
  const status = file.status === "ok" ? "warning" : file.status;
  return { ...file, status, diagnostics: [...file.diagnostics, ...more] };
}

/** Warns about names that an earlier file defines: only the strictest definition is used. */
function withTwins(file: AgentFile, first: Map<string, string>): AgentFile {
  const twins = file.agents.flatMap(({ name }): readonly Diagnostic[] => {
    const key = file.format === "skill" ? `skill ${name}` : name;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, file.file);
    if (earlier === undefined) return [];
    const place = earlier === file.file ? "this file" : earlier;
    const message = `"${name}" is defined in ${place} already; the stricter definition counts`;
    return [{ severity: "warning", ...(file.agents.length > 1 && { agent: name }), message }];
  });
  return withDiagnostics(file, twins);
}

function reportOf({
  agents,
  diagnostics,
  file,
  format,
  loss,
  servers,
  status,
}: AgentFile): FileReport {
  const names = agents.map(({ name }) => name);
  const serverNames = Object.keys(servers);
  return {
    file,
    format,
    status,
    name: names[0] ?? null,
    ...(names.length > 1 && { names }),
    ...(serverNames.length > 0 && { servers: serverNames }),
    diagnostics,
    loss: withoutRepetition(loss),
  };
}

function withoutRepetition(loss: readonly Loss[]): readonly Loss[] {
  return [...new Map(loss.map((each) => [JSON.stringify(each), each])).values()];
}

/** The names that are known without a program: shipped ones, and those of the checked files. */
function namesForCheck(
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

/** Adds errors beyond syntax to the report on a profile of ours, each with its line. */
function withJudgement(file: AgentFile, known: NamesForCheck): AgentFile {
  if (file.format !== "mandate") return file;
  const found = file.agents.flatMap(({ fields, importedFrom }) =>
    importedFrom === undefined ? judgeFields(fields, known) : [],
  );
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
