import type { ArtifactReference, StoredEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { exportMarkdown, readArtifact } from "./export-markdown.ts";
import { harmlessJson } from "./harmless-text.ts";
import { readChain, requireHead } from "./session-chain.ts";
import { readLink, type SessionLink } from "./session-link.ts";
import { readTitles, titleOf } from "./session-records.ts";

export const sessionFormats = ["markdown", "jsonl"] as const;

export type SessionFormat = (typeof sessionFormats)[number];

/**
 * A whole session as text, in pieces.
 * @example for await (const piece of exportSession(store, "a1b2c3")) process.stdout.write(piece);
 */
export function exportSession(
  store: Store,
  id: string,
  format: SessionFormat = "markdown",
): AsyncGenerator<string> {
  switch (format) {
    case "markdown":
      return exportMarkdown(store, id);
    case "jsonl":
      return exportJsonl(store, id);
    default: {
      const known = sessionFormats.join(", ");
      throw new MandateError("usage", `Unknown format ${JSON.stringify(format)}. Known: ${known}.`);
    }
  }
}

/**
 * A session for programs: one JSON document per line, with its kind in `record`. For each run: the
 * contract, the system prompt, and all events of the run and the agent, each followed by the artifacts
 * that it refers to. Children have only their creation and close event; export them by their own ids.
 * Whatever cannot be read is a `lost` record.
 */
async function* exportJsonl(store: Store, id: string): AsyncGenerator<string> {
  const last = await requireHead(store, id);
  const { links, problem } = await readChain(store, last);
  const title = titleOf(links, await readTitles(store));
  const runIds = links.map(({ runId }) => runId);
  yield line({ record: "session", version: 1, sessionId: last.id, title, runIds });
  if (problem !== null) yield line({ record: "lost", problem });
  for (const [index, head] of links.entries()) {
    yield* linesOf(store, await readLink(store, head, links[index + 1]));
  }
}

async function* linesOf(store: Store, link: SessionLink): AsyncGenerator<string> {
  const { contract, events, head } = link;
  const about = { runId: head.runId, delegationId: head.id };
  if (contract === null) {
    yield line({ record: "lost", ...about, problem: "its contract cannot be read" });
  } else {
    yield line({ record: "contract", ...about, contract });
    yield line(await promptRecord(store, contract.profile.prompt, about));
  }
  for (const event of events) {
    if (event.type === "lost") {
      yield line({ record: "lost", runId: event.run_id, problem: event.problem });
      continue;
    }
    if (!belongsTo(link, event)) continue;
    yield line({ record: "event", ...event });
    for (const artifact of artifactsOf(event)) {
      const { problem, text } = await readArtifact(store, artifact);
      yield line(
        problem === undefined
          ? { record: "artifact", ...artifact, text }
          : { record: "lost", runId: event.run_id, problem },
      );
    }
  }
}

function belongsTo({ children, head }: SessionLink, event: StoredEvent): boolean {
  const { sub_agent_id: id, type } = event;
  if (id === undefined || id === head.id) return true;
  const isBreadcrumb = type === "agent.subagent_created" || type === "agent.subagent_closed";
  return isBreadcrumb && children.has(id);
}

async function promptRecord(store: Store, hash: string, about: object): Promise<object> {
  const text = await store.readText(hash);
  if (text !== undefined && sha256(text) === hash)
    return { record: "prompt", ...about, hash, text };
  const problem = text === undefined ? "is missing" : "has changed";
  return { record: "lost", ...about, problem: `its system prompt ${hash} ${problem}` };
}

/** Only valid references: the payload may be damaged. */
function artifactsOf({ payload }: StoredEvent): readonly ArtifactReference[] {
  if (typeof payload !== "object" || payload === null) return [];
  const { artifact, diff } = payload as { readonly artifact?: unknown; readonly diff?: unknown };
  return [artifact, diff].filter(
    (each): each is ArtifactReference =>
      typeof each === "object" && each !== null && "hash" in each && typeof each.hash === "string",
  );
}

function line(record: object): string {
  return `${harmlessJson(record)}\n`;
}
