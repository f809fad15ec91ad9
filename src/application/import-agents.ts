import type { AgentFile, Loss } from "../agents/foreign/agent-file.ts";
import { findAgentFiles } from "../agents/foreign/find-agent-files.ts";
import { readAgentFile } from "../agents/foreign/read-agent-file.ts";
import { writeMarkdownProfile } from "../agents/profiles/profile-document.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import { MandateError } from "../ports/mandate-error.ts";

/** An agent, converted to a file in our format. */
export interface ConvertedAgent {
  readonly name: string;
  /** The source file. */
  readonly source: string;
  readonly markdown: string;
  readonly loss: readonly Loss[];
}

export interface Conversion {
  readonly agents: readonly ConvertedAgent[];
  readonly servers: Readonly<Record<string, McpServer>>;
  /** Skills, which need no conversion, only a place in a folder of skills. */
  readonly skills: readonly string[];
  /** Every file, also those without agents. */
  readonly files: readonly AgentFile[];
  /** Names that several files define; the first by path is used. */
  readonly duplicates: readonly { readonly name: string; readonly source: string }[];
}

/** Converts agent files of other programs to our format. Writes nothing. */
export function convertAgentFiles(paths: readonly string[]): Conversion {
  const files = findAgentFiles(paths).map((path) => readAgentFile(path));
  const agents = new Map<string, ConvertedAgent>();
  const duplicates: { name: string; source: string }[] = [];
  for (const { agents: found, file, format } of files) {
    if (format === "skill") continue;
    for (const { fields, loss, name } of found) {
      if (agents.has(name)) {
        duplicates.push({ name, source: file });
        continue;
      }
      const markdown = writeMarkdownProfile(name, fields);
      agents.set(name, { name, source: file, markdown, loss });
    }
  }
  return {
    agents: [...agents.values()],
    servers: Object.assign({}, ...files.map(({ servers }) => servers)),
    skills: files
      .filter(({ format, status }) => isUsableSkill(format, status))
      .map(({ file }) => file),
    files,
    duplicates,
  };
}

function isUsableSkill(format: AgentFile["format"], status: AgentFile["status"]): boolean {
  return format === "skill" && (status === "ok" || status === "warning");
}

/** Throws for `--strict` when a setting would be lost. */
export function requireNothingLost({ agents, duplicates, files }: Conversion): void {
  const broken = files.filter(({ status }) => status === "error").map(({ file }) => file);
  const lossy = agents.filter(({ loss }) => loss.some(({ kind }) => kind !== "kept"));
  const names = lossy.map(({ name }) => name);
  const problems = [
    broken.length > 0 ? `cannot be used: ${broken.join(", ")}` : "",
    names.length > 0 ? `would lose something: ${names.join(", ")}` : "",
    duplicates.length > 0 ? `twice: ${duplicates.map(({ name }) => name).join(", ")}` : "",
  ].filter((problem) => problem !== "");
  if (problems.length === 0) return;
  throw new MandateError(
    "refused-by-policy",
    `Nothing was imported, since --strict allows no loss. ${problems.join("; ")}. Leave out --strict to take what can be taken.`,
  );
}
