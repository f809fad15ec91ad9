import { type ReadResourceResult, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { isRunInterrupted } from "../../../events/is-worked-on.ts";
import type { RunState } from "../../../events/run-state.ts";
import { infoOf, resultOf } from "../../../sessions/delegation-result.ts";
import { exportMarkdown } from "../../../sessions/export-markdown.ts";
import { headOf } from "../../../text.ts";
import type { ClientSession } from "../client-session.ts";
import { type DelegationPart, parseResourceUri } from "./resource-uri.ts";

/** A client pours what it reads into a conversation. */
const longestText = 1024 * 1024;
/** So many of the latest runs are looked through for the owner of an artifact. */
const runsSearched = 200;

/** What is not there and what is somebody else's are the same to whoever asks. */
export async function readResource(
  session: ClientSession,
  uri: string,
): Promise<ReadResourceResult> {
  const name = parseResourceUri(uri);
  const found = name === undefined ? undefined : await readNamed(session, name);
  if (found === undefined) throw new ResourceNotFoundError(uri);
  const { mimeType, text } = found;
  return { contents: [{ uri, mimeType, text: cut(text) }] };
}

interface Found {
  readonly mimeType: string;
  readonly text: string;
}

async function readNamed(
  session: ClientSession,
  name: NonNullable<ReturnType<typeof parseResourceUri>>,
): Promise<Found | undefined> {
  if (name.kind === "artifact") return readArtifact(session, name.hash);
  const run = await seenRun(session, name.id);
  if (run === undefined) return undefined;
  if (name.kind === "run") {
    if (run.id !== name.id) return undefined;
    return describeRun(run, await isRunInterrupted(session.runtime.store, run));
  }
  return readPart(session, run, name.id, name.part);
}

/** The run of an id, if the principal sees it. */
export async function seenRun(session: ClientSession, id: string): Promise<RunState | undefined> {
  const { store } = session.runtime;
  const runId = await store.findRun(id);
  return runId === undefined ? undefined : store.readRun(runId);
}

function describeRun(run: RunState, isInterrupted: boolean): Found {
  const { id, outcome, startedAt, finishedAt, task, workspace } = run;
  const state = outcome ?? (isInterrupted ? "interrupted" : "running");
  const delegations = [...run.delegations.values()].map((one) => infoOf(run, one, isInterrupted));
  const facts = { id, task, state, outcome, startedAt, finishedAt, workspace, delegations };
  return { mimeType: "application/json", text: JSON.stringify(facts, null, 1) };
}

async function readPart(
  session: ClientSession,
  run: RunState,
  id: string,
  part: DelegationPart,
): Promise<Found | undefined> {
  const delegation = run.delegations.get(id);
  if (delegation === undefined) return undefined;
  const { store } = session.runtime;
  switch (part) {
    case "result": {
      const result = resultOf(run, id);
      if (result === null) return undefined;
      return { mimeType: "application/json", text: JSON.stringify(result, null, 1) };
    }
    case "report": {
      const text = "output" in delegation ? delegation.output?.text : undefined;
      return text === undefined ? undefined : { mimeType: "text/markdown", text };
    }
    case "transcript":
      return { mimeType: "text/markdown", text: await join(exportMarkdown(store, id)) };
    case "events": {
      const lines = (async function* () {
        for await (const event of store.readEvents({ delegationId: id }))
          yield `${JSON.stringify(event)}\n`;
      })();
      return { mimeType: "application/jsonl", text: await join(lines) };
    }
    default:
      return part satisfies never;
  }
}

/** Bodies are kept by their hash alone: one is read where a run that the principal sees has it. */
async function readArtifact(session: ClientSession, hash: string): Promise<Found | undefined> {
  const { store } = session.runtime;
  for (const { id } of await store.listRuns({ limit: runsSearched })) {
    const run = await store.readRun(id);
    for (const delegation of run?.delegations.values() ?? []) {
      if (!("output" in delegation) || delegation.output?.artifact?.hash !== hash) continue;
      const text = await store.readArtifact(hash);
      return text === undefined ? undefined : { mimeType: "text/plain", text };
    }
  }
  return undefined;
}

async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) {
    text += piece;
    if (text.length > longestText) break;
  }
  return text;
}

function cut(text: string): string {
  if (text.length <= longestText) return text;
  return `${headOf(text, longestText)}\n[… cut here: the rest is in the log; mandate show, logs and sessions give it whole]`;
}
