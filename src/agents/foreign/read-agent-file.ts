import { createHash, type Hash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, relative, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { reasonOf } from "../../ports/message-of.ts";
import { readRegularFile, whyUnread } from "../documents/read-text-file.ts";
import { maximumShownBytes, maximumSkillBytes } from "../skills/skill-files.ts";
import { type AgentFile, type AgentFormat, Findings, shorten } from "./agent-file.ts";
import { formatOfPath, type Syntax } from "./detect-format.ts";
import { type Fields, type PolicyProgram, readProjectPolicy } from "./project-policy.ts";
import { maximumDataBytes } from "./read-data.ts";
import { readDataAgents } from "./read-data-agents.ts";
import { describesAgent, readMarkdownAgent } from "./read-markdown-agent.ts";

interface ReadAgentOptions {
  /** Links that leave this folder are refused. Its first subfolder can name the format. */
  readonly root?: string;
}

const maximumTextBytes = 256 * 1024;

/**
 * Reads one file of another program: lenient about syntax, strict about authority. Never throws
 * because of a file's content; errors are in `diagnostics`. When one agent of several is unusable,
 * `status` is "error" and `agents` holds the others.
 */
export function readAgentFile(path: string, options: ReadAgentOptions = {}): AgentFile {
  const findings = new Findings();
  const source = new AgentSource(path);
  const { format: byPath, mayBeAgent = false, skip, syntax } = formatOfPath(path);
  const format = byPath ?? formatOfRoot(path, options.root);
  const shared = { file: path, agents: [], servers: {}, loss: findings.loss };
  const isSkipped = skip !== undefined && !(mayBeAgent && isAgentDocument(path));
  if (isSkipped || syntax === undefined) {
    if (!existsSync(path)) return missing(path, format);
    findings.note(`skipped: ${skip ?? "not a format of agents"}`);
    const { diagnostics } = findings;
    return { ...shared, format: "unknown", status: "skipped", diagnostics, hash: source.hash() };
  }
  try {
    const bytes = source.read(limitOf(syntax, format), options.root);
    if (format === "skill" && bytes.length > maximumShownBytes) {
      findings.warn(`a model is shown the first ${maximumShownBytes / 1024} KB of it`);
    }
    const text = decodeLeniently(bytes, findings);
    const include = (written: string) => source.include(written, findings);
    const policy = (program: PolicyProgram) => source.policy(program, options.root, findings);
    const agent = { path, text, format, fallbackName: stemOf(path), findings, include, policy };
    const read =
      syntax === "markdown"
        ? { ...readMarkdownAgent(agent), servers: {} }
        : readDataAgents(agent, syntax);
    const hasFailed = findings.hasFailed;
    return {
      ...shared,
      format: read.format,
      status: read.isSkipped === true ? "skipped" : statusOf(findings),
      agents: hasFailed && read.agents.length === 1 && syntax === "markdown" ? [] : read.agents,
      servers: read.servers,
      diagnostics: findings.diagnostics,
      hash: source.hash(),
      ...(source.beside.length > 0 && { beside: source.beside }),
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return missing(path, format);
    findings.refuse(whyUnread(error));
    const { diagnostics } = findings;
    return {
      ...shared,
      format: format ?? "unknown",
      status: "error",
      diagnostics,
      hash: source.hash(),
    };
  }
}

function isAgentDocument(path: string): boolean {
  try {
    return describesAgent(readRegularFile(path, maximumTextBytes).toString("utf8"));
  } catch {
    return false;
  }
}

/** The most bytes of a file; for a skill as many as where it is used. */
function limitOf(syntax: Syntax, format: AgentFormat | undefined): number {
  if (format === "skill") return maximumSkillBytes;
  return syntax === "json" || syntax === "yaml" ? maximumDataBytes : maximumTextBytes;
}

/** The result for a missing file, which is an error. */
function missing(file: string, format: AgentFormat = "unknown"): AgentFile {
  const findings = new Findings();
  findings.refuse("does not exist");
  const { diagnostics, loss } = findings;
  const nothing = { agents: [], servers: {}, diagnostics, loss };
  return { file, format, status: "error", ...nothing, hash: new AgentSource(file).hash() };
}

function statusOf({ diagnostics }: Findings): AgentFile["status"] {
  if (diagnostics.some(({ severity }) => severity === "error")) return "error";
  return diagnostics.some(({ severity }) => severity === "warning") ? "warning" : "ok";
}

function stemOf(path: string): string {
  const file = basename(path);
  if (/^skill\.md$/i.test(file)) return basename(dirname(path));
  return file.replace(/\.(?:agent|chatmode)\.md$|\.\w+$/i, "").replace(/^(?:dot-|\.)/, "");
}

const formatNames: ReadonlySet<string> = new Set<AgentFormat>([
  ...(["claude", "opencode", "gemini", "codex", "copilot", "chatmode", "cursor"] as const),
  ...(["kiro", "roo", "goose", "pi"] as const),
]);

/** In collections that are sorted by format, the first folder below the root names the format. */
function formatOfRoot(path: string, root: string | undefined): AgentFormat | undefined {
  if (root === undefined) return undefined;
  const first = relative(root, path).split(/[\\/]/)[0] ?? "";
  const isFormat = formatNames.has(first) && formatOfPath(path).syntax === "markdown";
  return isFormat ? (first as AgentFormat) : undefined;
}

const maximumIncludeBytes = 256 * 1024;
const maximumIncludes = 500;

/** Reads an agent file and the files that it includes, and hashes all of them. */
class AgentSource {
  readonly #path: string;
  readonly #hash: Hash = createHash("sha256");
  /** Other files that decide what the agent may do, whether they exist or not. */
  readonly beside: string[] = [];
  #includes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws a plain Error whose message completes "<file>: …". */
  read(maximumBytes: number, root: string | undefined): Buffer {
    if (root !== undefined) {
      const isInside = isBelow(realpathSync.native(this.#path), realpathSync.native(root));
      if (!isInside)
        throw new Error("a symbolic link that points outside its folder; copy the file");
    }
    const bytes = readRegularFile(this.#path, maximumBytes);
    this.#hash.update(bytes);
    return bytes;
  }

  /**
   * Reads an included file, which must be below the source's folder, links resolved: a repository
   * can name any path.
   */
  include(written: string, findings: Findings): string | undefined {
    const shown = `"${shorten(written)}"`;
    this.#includes += 1;
    if (this.#includes > maximumIncludes) {
      findings.warn(`${shown} is not included: more than ${maximumIncludes} files`);
      return undefined;
    }
    try {
      const folder = realpathSync.native(dirname(this.#path));
      const path = realpathSync.native(resolve(folder, written));
      if (!isBelow(path, folder)) throw new Error("it is outside of the file's folder");
      this.beside.push(path);
      const bytes = readRegularFile(path, maximumIncludeBytes);
      this.#hash.update(`\0${written}\0`).update(bytes);
      return decodeLeniently(bytes, findings, shown);
    } catch (error) {
      findings.warn(`${shown} is not included: ${reasonOf(error)}`);
      return undefined;
    }
  }

  policy(program: PolicyProgram, root: string | undefined, findings: Findings): readonly Fields[] {
    const place = { file: this.#path, root };
    const { bytes, configurations, places } = readProjectPolicy(program, place, findings);
    this.beside.push(...places);
    for (const each of bytes) this.#hash.update("\0policy\0").update(each);
    return configurations;
  }

  hash(): string {
    return this.#hash.copy().digest("hex");
  }
}

/** Decodes text of another program. Invalid UTF-8 is replaced by a mark, with a warning. */
function decodeLeniently(bytes: Uint8Array, findings: Findings, shown = "the file"): string {
  const text = new TextDecoder("utf-8").decode(bytes);
  if (text.includes("\uFFFD") && !isUtf8(bytes)) {
    findings.warn(`${shown} is not valid UTF-8; what could not be read is shown as \uFFFD`);
  }
  if (text.includes("\0")) throw new Error("it contains a NUL byte; it is not text");
  return text;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
