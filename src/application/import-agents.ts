import { isDeepStrictEqual } from "node:util";
import type { AgentFile, AgentFormat, Loss } from "../agents/foreign/agent-file.ts";
import { findAgentFiles } from "../agents/foreign/find-agent-files.ts";
import { stricterServer } from "../agents/foreign/mcp-servers.ts";
import { readAgentFile } from "../agents/foreign/read-agent-file.ts";
import { strictestAgent } from "../agents/foreign/strictest-agent.ts";
import { delegatingTools } from "../agents/foreign/tool-reference.ts";
import type { ProfileFields } from "../agents/profiles/profile.ts";
import { parseMarkdownProfile, writeMarkdownProfile } from "../agents/profiles/profile-document.ts";
import { mergeLayers } from "../agents/profiles/profile-layer.ts";
import { matchGlob } from "../contracts/judge-by-rules.ts";
import type { McpServer } from "../contracts/mcp-server.ts";
import { includes } from "../contracts/selection.ts";
import type { ToolRule } from "../contracts/tool-rule.ts";
import { MandateError } from "../ports/mandate-error.ts";

/** An agent, converted to a file in our format. */
export interface ConvertedAgent {
  readonly name: string;
  /** The agent's name in its own program, where another profile has that name here. */
  readonly originally?: string;
  /** The source file. */
  readonly source: string;
  readonly markdown: string;
  readonly loss: readonly Loss[];
}

export interface Conversion {
  readonly agents: readonly ConvertedAgent[];
  /** Agents that could be read and cannot be written as a profile. */
  readonly refused: readonly { name: string; source: string; message: string }[];
  readonly servers: Readonly<Record<string, McpServer>>;
  /** Skills, which need no conversion, only a place in a folder of skills. */
  readonly skills: readonly string[];
  /** Every file, also those without agents. */
  readonly files: readonly AgentFile[];
  /** Agents and servers that are not written, since a stricter one has their name. */
  readonly duplicates: readonly Duplicate[];
}

interface Duplicate {
  readonly kind: "agent" | "server";
  readonly name: string;
  readonly source: string;
}

interface FoundAgent {
  readonly name: string;
  readonly source: string;
  readonly format: AgentFormat;
  readonly fields: ProfileFields;
  readonly loss: readonly Loss[];
  readonly importedFrom?: string;
}

/**
 * Converts agent files of other programs to our format. Writes nothing. `taken`: the names that no
 * imported agent can have, since other profiles have them.
 */
export function convertAgentFiles(
  paths: readonly string[],
  taken: ReadonlySet<string> = new Set(),
): Conversion {
  const files = findAgentFiles(paths).map((path) => readAgentFile(path));
  const found = files
    .filter(({ format }) => format !== "skill")
    .flatMap(({ agents, file, format }) =>
      agents.map((agent): FoundAgent => ({ ...agent, source: file, format })),
    );
  const duplicates: Duplicate[] = [];
  const chosen = [...Map.groupBy(found, ({ name }) => name)].flatMap(([name, [first, ...more]]) => {
    if (first === undefined) return [];
    const all = [first, ...more] as const;
    const agent = strictestAgent(all);
    const left = all.filter((each) => each !== (all.includes(agent) ? agent : first));
    for (const { source } of left) duplicates.push({ kind: "agent", name, source });
    return [agent];
  });
  const names = chooseNames(chosen, taken);
  const converted = chosen.map((agent) => convert(agent, names));
  return {
    agents: converted.filter((each) => "markdown" in each),
    refused: converted.filter((each) => "message" in each),
    servers: collectServers(files, duplicates),
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

const programs: Partial<Record<AgentFormat, string>> = {
  "opencode-json": "opencode",
  chatmode: "copilot",
  "yaml-agent": "other",
  mandate: "project",
};

/** The new names of agents whose names are taken: the program's name comes first. */
function chooseNames(
  agents: readonly FoundAgent[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const used = new Set([...taken, ...agents.map(({ name }) => name)]);
  const names = new Map<string, string>();
  for (const { format, name } of agents) {
    if (!taken.has(name)) continue;
    const base = `${programs[format] ?? format}-${name}`.slice(0, 60);
    let other = base;
    for (let count = 2; used.has(other); count += 1) other = `${base}-${count}`;
    used.add(other);
    names.set(name, other);
  }
  return names;
}

/** Converts an agent, and checks that the result can be loaded and says the same. */
function convert(
  { fields: said, format, importedFrom = format, loss, name: original, source }: FoundAgent,
  names: ReadonlyMap<string, string>,
): ConvertedAgent | Conversion["refused"][number] {
  const name = names.get(original) ?? original;
  const fields = withNames(said, names);
  const markdown = writeMarkdownProfile(name, fields, importedFrom);
  try {
    mergeLayers([{ name, fields, origin: source }]);
    const written = parseMarkdownProfile(markdown, source);
    if (!isDeepStrictEqual(written, { name, importedFrom, fields })) {
      throw new MandateError("profile-invalid", "it cannot be written so that it says the same");
    }
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    const [problem = ""] = error.message.split("\n");
    const message = problem.startsWith(source) ? problem.slice(source.length + 2) : problem;
    return { name, source, message };
  }
  const originally = name === original ? {} : { originally: original };
  return { name, ...originally, source, markdown, loss };
}

/** Rules about the agents that may be delegated to follow the new names of these agents. */
function withNames(fields: ProfileFields, names: ReadonlyMap<string, string>): ProfileFields {
  const { toolRules } = fields;
  if (names.size === 0 || toolRules === undefined) return fields;
  const renamed = toolRules.flatMap((rule) => {
    const { action, match = "*", tool } = rule;
    const isAbout = delegatingTools.some((each) => tool === "*" || includes([tool], each));
    // "*" means the person's own as well.
    if (!isAbout || match === "*") return [rule];
    const meant = [...names].filter(([name]) => matchGlob(match, name));
    const others = meant.map(([, name]): ToolRule => ({ ...rule, match: name }));
    if (action !== "allow") return [rule, ...others];
    if (names.has(match)) return others;
    const own = meant.map(([name]): ToolRule => ({ ...rule, match: name, action: "deny" }));
    return [rule, ...own, ...others];
  });
  return { ...fields, toolRules: renamed };
}

function collectServers(
  files: readonly AgentFile[],
  duplicates: Duplicate[],
): Readonly<Record<string, McpServer>> {
  const servers = new Map<string, { readonly server: McpServer; readonly source: string }>();
  for (const { file, servers: found } of files) {
    for (const [name, server] of Object.entries(found)) {
      const known = servers.get(name);
      const stricter = known === undefined ? server : stricterServer(known.server, server);
      const isLater = known === undefined || stricter === server;
      const left = isLater ? known?.source : file;
      if (left !== undefined) duplicates.push({ kind: "server", name, source: left });
      servers.set(name, { server: stricter, source: isLater ? file : (known?.source ?? file) });
    }
  }
  return Object.fromEntries([...servers].map(([name, { server }]) => [name, server]));
}

/** Throws for `--strict` when a setting would be lost. */
export function requireNothingLost({ agents, duplicates, files, refused }: Conversion): void {
  const broken = files.filter(({ status }) => status === "error").map(({ file }) => file);
  const unusable = [...broken, ...refused.map(({ source }) => source)];
  const lossy = agents.filter(({ loss }) => loss.some(({ kind }) => kind !== "kept"));
  const names = lossy.map(({ name }) => name);
  const problems = [
    unusable.length > 0 ? `cannot be used: ${unusable.join(", ")}` : "",
    names.length > 0 ? `would lose something: ${names.join(", ")}` : "",
    duplicates.length > 0 ? `twice: ${duplicates.map(({ name }) => name).join(", ")}` : "",
  ].filter((problem) => problem !== "");
  if (problems.length === 0) return;
  throw new MandateError(
    "refused-by-policy",
    `Nothing was imported, since --strict allows no loss. ${problems.join("; ")}. Leave out --strict to take what can be taken.`,
  );
}
