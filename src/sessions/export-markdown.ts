import { describeStatus } from "../events/close-reason.ts";
import type { ArtifactReference } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { messageOf } from "../ports/message-of.ts";
import type { Store } from "../ports/store.ts";
import { harmlessLine, harmlessText } from "./harmless-text.ts";
import { type AgentSession, readSession } from "./read-session.ts";
import { isByPerson } from "./session.ts";
import type { CallEntry, SessionEntry } from "./session-entry.ts";

/** A session as Markdown for people. Calls are collapsed; a note stands for whatever cannot be read. */
export async function* exportMarkdown(store: Store, id: string): AsyncGenerator<string> {
  const session = await readSession(store, id);
  yield headingOf(session);
  const agent = session.context?.agentId ?? "agent";
  const isTask = session.context !== null && !isByPerson(session.context.trigger);
  const names = { agent, asker: isTask ? "Task" : "Person" };
  for (const entry of session.entries) yield `${await blockOf(store, entry, names)}\n\n`;
}

function headingOf({ context, problems, sessionId, title }: AgentSession): string {
  const facts: (readonly [string, string])[] = [["Session", sessionId]];
  if (context !== null) {
    const { agentId, capability, closeReason, runIds, status, workspace } = context;
    facts.push(
      ["Agent", `${agentId} (${capability})`],
      ["Workspace", workspace.root ?? "none"],
      ["Began", time(context.createdAt)],
      ["Status", closeReason === null ? status : describeStatus(status, closeReason)],
      ["Runs", runIds.join(", ")],
    );
  }
  if (problems.length > 0) facts.push(["Damaged", `${problems.length} places cannot be read`]);
  const list = facts.map(([name, value]) => `- ${name}: ${inline(value, 2000)}`).join("\n");
  return `# ${inline(title)}\n\n${list}\n\n`;
}

async function blockOf(
  store: Store,
  entry: SessionEntry,
  { agent, asker }: { readonly agent: string; readonly asker: string },
): Promise<string> {
  switch (entry.kind) {
    case "person":
      return `## ${asker}, ${time(entry.at)}\n\n${quoteProse(entry.text)}`;
    case "agent": {
      const model = inline(entry.model);
      return `## ${inline(agent)}, ${time(entry.at)}\n\n${quoteProse(entry.text)}\n\n*${model}*`;
    }
    case "call":
      return callBlock(store, entry);
    case "remark": {
      const who = `${inline(entry.from)} (${inline(entry.severity)})`;
      return `**Remark of ${who}:**\n\n${quoteProse(entry.text)}`;
    }
    case "question": {
      const answer = entry.answer === null ? "*No answer.*" : quoteProse(entry.answer);
      return `**Question:**\n\n${quoteProse(entry.text)}\n\n**Answer:**\n\n${answer}`;
    }
    case "child": {
      const { delegationId, link, profile, status, summary } = entry.breadcrumb;
      const who = `${inline(profile)} ${inline(delegationId)}`;
      return `- **${who}** ${status}: ${inline(summary, 240)} (${inline(link)})`;
    }
    case "note":
      return noteBlock(entry.at, entry.text);
    case "lost":
      return `**[Something is missing here: ${inline(entry.text, 500)}]**`;
    default:
      return entry satisfies never;
  }
}

function noteBlock(at: number, text: string): string {
  const isShort = text.length <= 200 && !text.includes("\n");
  return `*${time(at)}:*${isShort ? ` ${inline(text)}` : `\n\n${quoteProse(text)}`}`;
}

async function callBlock(store: Store, entry: CallEntry): Promise<string> {
  const { artifact, input, outcome, output, tool } = entry;
  const asked = typeof input === "string" ? input : (JSON.stringify(input, null, 2) ?? "");
  return [
    `<details><summary>${inTag(tool)}: ${outcome}</summary>`,
    fence(asked, "json"),
    ...(outcome === "open" ? [] : [fence(output)]),
    ...(artifact === undefined ? [] : [await aboutArtifact(store, artifact)]),
    "</details>",
  ].join("\n\n");
}

async function aboutArtifact(store: Store, artifact: ArtifactReference): Promise<string> {
  const { problem } = await readArtifact(store, artifact);
  if (problem !== undefined) return `**[Something is missing here: ${inline(problem, 500)}]**`;
  return `*All ${artifact.bytes} bytes of it are kept as ${inline(artifact.hash)}.*`;
}

/** A damaged log may contain an invalid time. */
function time(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "at an unknown time" : date.toISOString();
}

/**
 * Untrusted texts in a Markdown document. None of them can end its block, begin a heading, load a picture or
 * run code.
 */

/** Active content: HTML, images, script links and link definitions. */
const active = /<[A-Za-z/!?]|!\[|\]\(\s*(?:javascript|data|vbscript):|^\s{0,3}\[[^\]]+\]:/im;

/** Prose as a quotation with its own Markdown; as a code block when it contains active content. */
export function quoteProse(text: string): string {
  const harmless = harmlessText(text);
  if (active.test(harmless)) return fence(text);
  return harmless
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** A code block with a longer fence than any in the text. */
export function fence(text: string, language = ""): string {
  const harmless = harmlessText(text);
  const ticks = harmless.match(/`{3,}/g) ?? [];
  const mark = "`".repeat(Math.max(3, ...ticks.map(({ length }) => length + 1)));
  return `${mark}${language}\n${harmless}${harmless.endsWith("\n") ? "" : "\n"}${mark}`;
}

/** A name or a title within a line. */
export function inline(text: string, most = 200): string {
  return harmlessLine(text, most)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[\\`*_{}[\]#|!~]/g, (character) => `\\${character}`);
}

/** A name or a title between HTML tags, where Markdown escapes would be visible. */
export function inTag(text: string, most = 100): string {
  return harmlessLine(text, most)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

export type ReadArtifact =
  | { readonly text: string; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: string };

/** The body of an artifact, or why it cannot be used. */
export async function readArtifact(
  store: Store,
  { bytes, hash }: ArtifactReference,
): Promise<ReadArtifact> {
  const name = `the artifact ${String(hash)} of ${String(bytes)} bytes`;
  try {
    const text = await store.readArtifact(hash);
    if (text === undefined) return { problem: `${name} is missing` };
    if (sha256(text) !== hash) return { problem: `${name} has changed` };
    return { text };
  } catch (error) {
    return { problem: `${name} cannot be read: ${messageOf(error)}` };
  }
}
