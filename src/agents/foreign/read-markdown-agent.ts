import { readFrontMatter } from "../documents/front-matter.ts";
import { firstSentence } from "../profiles/first-sentence.ts";
import { parseMarkdownProfile } from "../profiles/parse-markdown-profile.ts";
import type { AgentFormat, ImportedAgent } from "./agent-file.ts";
import { guardedKeysOf } from "./authority-keys.ts";
import { formatOfFields, isAgentLike, isNote } from "./detect-format.ts";
import { importClaude } from "./dialects/claude.ts";
import { importGemini } from "./dialects/gemini.ts";
import { importMarkdown } from "./dialects/markdown.ts";
import { importOpencode } from "./dialects/opencode.ts";
import { importSkill } from "./dialects/skill.ts";
import type { Findings } from "./findings.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import { knownKeys, proseKeys } from "./known-keys.ts";
import { toPlainText } from "./plain-data.ts";
import { readOwnProfile } from "./read-own-profile.ts";
import { toProfileName } from "./to-profile-name.ts";

export interface MarkdownSource {
  readonly path: string;
  readonly text: string;
  readonly format: AgentFormat | undefined;
  readonly fallbackName: string;
  readonly findings: Findings;
  include(path: string): string | undefined;
}

export interface ReadAgents {
  readonly format: AgentFormat;
  readonly agents: readonly ImportedAgent[];
  /** It is no agent at all. */
  readonly isSkipped?: boolean;
}

const importers: Partial<Record<AgentFormat, (agent: ForeignAgent) => ImportedAgent>> = {
  claude: importClaude,
  opencode: importOpencode,
  gemini: importGemini,
  skill: importSkill,
};

/** One agent as Markdown, in whichever dialect. */
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
  const agent: ForeignAgent = {
    ...source,
    format,
    fields: read.fields,
    body: read.body,
    lineOf: (key) => read.lineOf(key),
  };
  const imported = (importers[format] ?? importMarkdown)(agent);
  return { format, agents: [imported] };
}

/** Chat modes may have none. Anything that looks like a key then is a front matter that broke. */
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
