import { MandateError } from "../../ports/mandate-error.ts";
import { firstSentence } from "../../text.ts";
import { readFrontMatter } from "../documents/front-matter.ts";
import { type ParsedProfile, parseMarkdownProfile } from "../profiles/profile-document.ts";
import type { AgentFormat, Findings, ForeignAgent, ImportedAgent } from "./agent-file.ts";
import { guardedKeysOf, knownKeys, proseKeys } from "./agent-keys.ts";
import { formatOfFields, isAgentLike, isNote } from "./detect-format.ts";
import {
  importClaude,
  importGemini,
  importMarkdown,
  importOpencode,
  importSkill,
} from "./dialects.ts";
import { recordOf, toPlainText } from "./plain-data.ts";
import {
  type Fields,
  namesOfFile,
  type PolicyProgram,
  withConfigurations,
} from "./project-policy.ts";
import { toProfileName } from "./to-profile-name.ts";

export interface MarkdownSource {
  readonly path: string;
  readonly text: string;
  readonly format: AgentFormat | undefined;
  readonly fallbackName: string;
  readonly findings: Findings;
  include(path: string): string | undefined;
  /** The settings of a program that apply to the file, the outermost first. */
  policy(program: PolicyProgram): readonly Fields[];
}

export interface ReadAgents {
  readonly format: AgentFormat;
  readonly agents: readonly ImportedAgent[];
  /** The file describes no agent. */
  readonly isSkipped?: boolean;
}

const importers: Partial<Record<AgentFormat, (agent: ForeignAgent) => ImportedAgent>> = {
  claude: importClaude,
  opencode: importOpencode,
  gemini: importGemini,
  skill: importSkill,
};

/** Reads an agent in Markdown, in any format. */
export function readMarkdownAgent(source: MarkdownSource): ReadAgents {
  const { findings, path, text } = source;
  if (source.format === "mandate") return readOwnProfile(source, parseMarkdownProfile);
  const guarded = guardedKeysOf(source.format);
  const read = readFrontMatter(text, { knownKeys, proseKeys, guardedKeys: guarded });
  const format = source.format ?? formatOfFields(read.fields);
  if (format === "mandate") return readOwnProfile(source, parseMarkdownProfile);
  for (const problem of read.problems) findings.add(problem);
  if (findings.hasFailed) return { format, agents: [] };
  if (!read.isPresent) return withoutFrontMatter(source);
  const isOther = source.format === undefined && !isAgentLike(read.fields);
  if (isOther || (isNote(path) && read.fields["description"] === undefined)) {
    findings.note("skipped: its front matter is not that of an agent");
    return { format, agents: [], isSkipped: true };
  }
  const merge = () => {
    const names = namesOfFile(source.path, read.fields, source.fallbackName);
    return recordOf(withConfigurations(read.fields, source.policy("opencode"), names, findings));
  };
  const fields = format === "opencode" ? merge() : read.fields;
  const agent: ForeignAgent = {
    ...source,
    format,
    fields,
    body: read.body,
    lineOf: (key) => read.lineOf(key),
    ...(format === "claude" && { settings: source.policy("claude") }),
  };
  const imported = (importers[format] ?? importMarkdown)(agent);
  return { format, agents: [imported] };
}

/** Whether the front matter names and describes an agent. */
export function describesAgent(text: string): boolean {
  const { fields } = readFrontMatter(text, { knownKeys, proseKeys });
  return typeof fields["name"] === "string" && typeof fields["description"] === "string";
}

/**
 * Reads a file without front matter, which is valid for chat modes. A line that looks like a key
 * means a broken front matter.
 */
function withoutFrontMatter({ fallbackName, findings, format, text }: MarkdownSource): ReadAgents {
  const isAgent = format === "copilot" || format === "chatmode" || format === "opencode";
  if (format === "skill")
    findings.refuse("there is no front matter; name and description go there");
  if (!isAgent || text.trim() === "") {
    if (!findings.hasFailed) findings.note("skipped: there is no front matter");
    return { format: format ?? "unknown", agents: [], isSkipped: !findings.hasFailed };
  }
  const top = text.split("\n", 60);
  if (top.some((line) => /^\W{0,4}[\w-]{2,24}["']?\s*:/.test(line) && isKey(line))) {
    findings.refuse("the front matter was not found; begin the file with a line ---");
    return { format, agents: [] };
  }
  findings.warn("there is no front matter; say at least when to delegate to it");
  const name = toProfileName(fallbackName, fallbackName);
  const prompt = toPlainText(text.replace(/^\uFEFF/, "")).trim();
  const fields = { description: firstSentence(prompt) || name, prompt };
  return { format, agents: [{ name, fields, loss: [] }] };
}

function isKey(line: string): boolean {
  const key = /[\w-]+/.exec(line)?.[0] ?? "";
  return knownKeys.has(key);
}

/** Reads a profile in our own format with its strict parser. */
export function readOwnProfile(
  { fallbackName, findings, path, text }: MarkdownSource,
  parse: (source: string, file: string) => ParsedProfile,
): ReadAgents {
  try {
    const { name = toProfileName(fallbackName, fallbackName), ...parsed } = parse(text, path);
    const agent = { ...parsed, name, loss: [] };
    return { format: "mandate", agents: [agent] };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    for (const problem of error.message.split("\n")) refuseAtLine(problem, path, findings);
    return { format: "mandate", agents: [] };
  }
}

/** The report names the file, so the message need not. */
function refuseAtLine(problem: string, path: string, findings: Findings): void {
  const own = problem.startsWith(`${path}:`) ? problem.slice(path.length) : problem;
  const [, line, message = problem] = /^:(\d+): (.*)$/s.exec(own) ?? [];
  findings.refuse(message, line === undefined ? undefined : Number(line));
}
