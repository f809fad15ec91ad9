import type { ArtifactReference } from "../events/event.ts";
import type { Store } from "../ports/store.ts";
import { fence, inline, inTag, quoteProse } from "./markdown-text.ts";
import { type AgentSession, readSession } from "./read-session.ts";
import { readArtifact } from "./session-artifact.ts";
import type { CallEntry, SessionEntry } from "./session-entry.ts";
import { isByPerson } from "./session-trigger.ts";

/** A session for people to read. Calls are folded; what cannot be read says so where it stood. */
export async function* exportMarkdown(store: Store, id: string): AsyncGenerator<string> {
  const session = await readSession(store, id);
  yield headOf(session);
  const agent = session.context?.agentId ?? "agent";
  const isTask = session.context !== null && !isByPerson(session.context.trigger);
  const names = { agent, asker: isTask ? "Task" : "Person" };
  for (const entry of session.entries) yield `${await blockOf(store, entry, names)}\n\n`;
}

function headOf({ context, problems, sessionId, title }: AgentSession): string {
  const facts: (readonly [string, string])[] = [["Session", sessionId]];
  if (context !== null) {
    const { agentId, capability, closeReason, runIds, status, workspace } = context;
    facts.push(
      ["Agent", `${agentId} (${capability})`],
      ["Workspace", workspace.root ?? "none"],
      ["Began", time(context.createdAt)],
      ["Status", closeReason === null ? status : `${status} (${closeReason})`],
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

/** A log that was tampered with may have any number for a time. */
function time(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "at an unknown time" : date.toISOString();
}
