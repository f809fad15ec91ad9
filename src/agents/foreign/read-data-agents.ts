import { type McpServer, serverSlug } from "../../contracts/mcp-server.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type { YamlPath } from "../documents/read-yaml.ts";
import { parseDataProfile } from "../profiles/profile-document.ts";
import { type AgentFormat, Findings, type ForeignAgent, type ImportedAgent } from "./agent-file.ts";
import { formatOfData, type Syntax } from "./detect-format.ts";
import {
  importCodex,
  importKiroJson,
  importOpencode,
  importRoo,
  importYamlAgent,
} from "./dialects.ts";
import { importGoose } from "./goose.ts";
import { readMcpServers } from "./mcp-servers.ts";
import { recordOf } from "./plain-data.ts";
import { refuseMisspeltKeys, restrictingKeys, withConfigurations } from "./project-policy.ts";
import { readData } from "./read-data.ts";
import { type MarkdownSource, type ReadAgents, readOwnProfile } from "./read-markdown-agent.ts";
import { serverOfTool } from "./tool-reference.ts";
import { importYeet } from "./yeet.ts";

export interface ReadDataAgents extends ReadAgents {
  readonly servers: Readonly<Record<string, McpServer>>;
}

type Importer = (agent: ForeignAgent) => ImportedAgent;

const importers: Partial<Record<AgentFormat, Importer>> = {
  codex: importCodex,
  goose: importGoose,
  kiro: importKiroJson,
  roo: importRoo,
  "yaml-agent": importYamlAgent,
};

/** Reads the agents and servers of TOML, JSON with comments or YAML. */
export function readDataAgents(source: MarkdownSource, syntax: Syntax): ReadDataAgents {
  const { findings } = source;
  const none = { agents: [], servers: {} };
  const data = readData(source.text.replace(/^\uFEFF/, ""), syntax);
  if ("problem" in data) {
    findings.refuse(data.problem, data.line);
    return { format: source.format ?? "unknown", ...none };
  }
  for (const { key, line } of data.duplicates) {
    findings.warn(`the key "${key}" is there twice; the last one counts`, line);
  }
  const { value } = data;
  const format =
    source.format ?? (syntax === "toml" ? "codex" : formatOfData(value, source.path, syntax));
  if (!isRecord(value)) {
    if (format === "unknown" || value === null) return { format, ...none, ...skip(findings) };
    findings.refuse("a map of keys and values is expected");
    return { format, ...none };
  }
  const read = (path: YamlPath, fields: unknown, name: string, importer: Importer) => {
    if (isRecord(fields)) {
      const agent = { ...source, format, fields, body: "", fallbackName: name };
      return readOne(agent, path, importer, data);
    }
    const about = { severity: "error", line: data.lineOf(path), agent: name } as const;
    findings.add({ ...about, message: `"${path.join(".")}" is not a map of keys and values` });
    return [];
  };

  switch (format) {
    case "unknown":
      return { format, ...none, ...skip(findings) };
    case "mandate":
      return { ...readOwnProfile(source, parseDataProfile), servers: {} };
    case "mcp": {
      const servers = value["mcpServers"] ?? value["servers"] ?? value["mcp"] ?? value;
      const read = readServers(servers, "mcpServers", findings, isInSeconds(source.path));
      return { format, agents: [], servers: read };
    }
    case "opencode-json": {
      const above = source.policy("opencode");
      refuseMisspeltKeys(value, restrictingKeys.opencode, "the configuration", findings);
      if (findings.hasFailed) return { format, ...none };
      const [agents, modes] = [recordOf(value["agent"]), recordOf(value["mode"])];
      const imported = Object.entries({ ...agents, ...modes }).flatMap(([name, own]) => {
        // An agent that is also a mode has the restrictions of both.
        const other = Object.hasOwn(modes, name) ? agents : {};
        const configurations = [...above, { ...value, agent: other, mode: {} }];
        const merging = new Findings();
        const whole = withConfigurations(own, configurations, [name], merging);
        findings.take(merging, name);
        return merging.hasFailed ? [] : read(["agent", name], whole, name, importOpencode);
      });
      const servers = value["mcp"] === undefined ? {} : readServers(value["mcp"], "mcp", findings);
      return { format, agents: imported, servers };
    }
    case "roo": {
      const modes = value["customModes"] ?? [value];
      if (!Array.isArray(modes)) findings.refuse('"customModes" is not a list');
      const isBare = value["customModes"] === undefined;
      const agents = (Array.isArray(modes) ? modes : []).flatMap((mode, index) =>
        read(isBare ? [] : ["customModes", index], mode, source.fallbackName, importRoo),
      );
      return { format, agents, servers: {} };
    }
    case "yeet": {
      const named = Object.entries(recordOf(value["agents"]));
      const agents = named.flatMap(([name, fields]) =>
        read(["agents", name], fields, name, importYeet),
      );
      if (named.length > 0) return { format, agents, servers: {} };
      return { format, agents: read([], value, source.fallbackName, importYeet), servers: {} };
    }
    default: {
      const importer = importers[format] ?? importYamlAgent;
      return { format, agents: read([], value, source.fallbackName, importer), servers: {} };
    }
  }
}

/** Reads one agent of several; an error in it leaves the others usable. */
function readOne(
  source: Omit<ForeignAgent, "lineOf">,
  path: YamlPath,
  importer: Importer,
  data: { lineOf(path: YamlPath): number },
): readonly ImportedAgent[] {
  const findings = new Findings();
  const lineOf = (key: string) => data.lineOf([...path, key]);
  const agent = importer({ ...source, findings, lineOf });
  // An agent below a path is one of several; a file with a single agent needs no name in messages.
  source.findings.take(findings, path.length === 0 ? undefined : agent.name);
  return findings.hasFailed ? [] : [agent];
}

/**
 * Reads servers for all agents. A rule cannot deny their tools here, so a server with denied tools
 * is refused.
 */
function readServers(value: unknown, field: string, findings: Findings, inSeconds = false) {
  const { servers, rules } = readMcpServers(value, field, findings, inSeconds);
  const forbidden = new Set(rules.map(({ tool }) => serverOfTool(tool)));
  const limited = new Set(Object.keys(servers).filter((name) => forbidden.has(serverSlug(name))));
  for (const name of limited) {
    findings.refuse(`"${name}" forbids some of its tools; list those that it allows as "tools"`);
  }
  return Object.fromEntries(Object.entries(servers).filter(([name]) => !limited.has(name)));
}

/** Roo, Kilo and Cline write the timeouts of servers in seconds. */
function isInSeconds(path: string): boolean {
  return /(?:^|[\\/])(?:\.|dot-)(?:roo|kilo|kilocode|cline)[\\/]|mcp_settings\.json$/i.test(path);
}

function skip(findings: Findings) {
  findings.note("skipped: neither agents nor servers are in it");
  return { isSkipped: true } as const;
}
