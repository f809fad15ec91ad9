import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
  type Server,
} from "@modelcontextprotocol/server";
import type { Delegation } from "../../../events/delegation.ts";
import { isRunInterrupted } from "../../../events/is-worked-on.ts";
import type { RunState } from "../../../events/run-state.ts";
import { infoOf, resultOf } from "../../../sessions/delegation-result.ts";
import { exportMarkdown } from "../../../sessions/export-markdown.ts";
import { headOf } from "../../../text.ts";
import { printableLine } from "../../cli/printable.ts";
import type { ClientSession } from "../client-session.ts";

/** The parts of a delegation that are resources. */
export const delegationParts = ["result", "report", "transcript", "events"] as const;

export type DelegationPart = (typeof delegationParts)[number];

export type ResourceName =
  | { readonly kind: "profiles" }
  | { readonly kind: "run"; readonly id: string }
  | { readonly kind: "delegation"; readonly id: string; readonly part: DelegationPart }
  | { readonly kind: "artifact"; readonly hash: string };

const pattern =
  /^mandate:\/\/(?:runs\/(?<run>[0-9a-z-]{1,64})|delegations\/(?<delegation>[0-9a-f]{6,64})\/(?<part>[a-z]{1,16})|artifacts\/(?<hash>[0-9a-z:-]{8,160}))$/;

/** Undefined: the URI is not a resource of ours. */
function parseResourceUri(uri: string): ResourceName | undefined {
  if (uri === profilesUri) return { kind: "profiles" };
  const { delegation, hash, part, run } = pattern.exec(uri.slice(0, 512))?.groups ?? {};
  if (run !== undefined) return { kind: "run", id: run };
  if (hash !== undefined) return { kind: "artifact", hash };
  const known = delegationParts.find((one) => one === part);
  if (delegation === undefined || known === undefined) return undefined;
  return { kind: "delegation", id: delegation, part: known };
}

export const profilesUri = "mandate://profiles";

export function runUri(id: string): string {
  return `mandate://runs/${id}`;
}

export function delegationUri(id: string, part: DelegationPart): string {
  return `mandate://delegations/${id}/${part}`;
}

/** Most subscriptions of a client. */
const mostSubscriptions = 1000;

/** Serves runs and delegations that the principal may see. Returns the subscribed URIs. */
export function serveResources(
  server: Server,
  open: () => Promise<ClientSession>,
): ReadonlySet<string> {
  const subscribed = new Set<string>();
  server.setRequestHandler("resources/list", async () => ({
    resources: [...(await listResources(await open()))],
  }));
  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: [...resourceTemplates],
  }));
  server.setRequestHandler("resources/read", async ({ params }) =>
    readResource(await open(), params.uri),
  );
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    const name = parseResourceUri(uri);
    // Artifacts never change.
    const id = name !== undefined && "id" in name ? name.id : "";
    const isKnown = name?.kind === "profiles" || (await seenRun(await open(), id)) !== undefined;
    if (!isKnown) throw new ResourceNotFoundError(uri);
    if (subscribed.size < mostSubscriptions) subscribed.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  return subscribed;
}

/** Only the latest are listed; older ones can be read by id. */
const mostRuns = 50;
const mostDelegations = 100;

/** The runs that the principal may see, and the delegations of this client. */
export async function listResources(session: ClientSession): Promise<readonly Resource[]> {
  const { store } = session.runtime;
  const resources: Resource[] = [
    { uri: profilesUri, name: "profiles", title: "Profiles of sub-agents", mimeType: markdown },
  ];
  for (const id of session.runIds) {
    const run = await store.readRun(id);
    const below = [...(run?.delegations.values() ?? [])].filter(
      ({ parentId }) => parentId !== null,
    );
    for (const delegation of below.slice(-mostDelegations)) {
      resources.push(...resourcesOf(delegation));
    }
  }
  for (const { id, task } of await store.listRuns({ limit: mostRuns })) {
    const title = headOf(printableLine(task), 100);
    resources.push({ uri: runUri(id), name: `run ${id}`, title, mimeType: json });
  }
  return resources;
}

const json = "application/json";
const markdown = "text/markdown";

function resourcesOf({ id, profile, status, title }: Delegation): readonly Resource[] {
  const who = `${printableLine(profile)} ${id}`;
  const shown = headOf(printableLine(title), 100);
  const transcript = {
    uri: delegationUri(id, "transcript"),
    name: `${who}: transcript`,
    title: shown,
    mimeType: markdown,
  };
  if (status !== "closed") return [transcript];
  const result = {
    uri: delegationUri(id, "result"),
    name: `${who}: result`,
    title: shown,
    mimeType: json,
  };
  return [result, transcript];
}

const resourceTemplates: readonly ResourceTemplateType[] = [
  template("mandate://runs/{id}", "run", "A run and the tree of its delegations.", json),
  template(
    "mandate://delegations/{id}/result",
    "delegation result",
    "The outcome of a delegation, and the record of the runtime.",
    json,
  ),
  template(
    "mandate://delegations/{id}/report",
    "delegation report",
    "The complete report of a delegation.",
    markdown,
  ),
  template(
    "mandate://delegations/{id}/transcript",
    "delegation transcript",
    "The messages and calls of a delegation.",
    markdown,
  ),
  template(
    "mandate://delegations/{id}/events",
    "delegation events",
    "The events of a delegation, one JSON document per line.",
    "application/jsonl",
  ),
  template(
    "mandate://artifacts/{hash}",
    "artifact",
    "A result that was too large for a reply.",
    "text/plain",
  ),
];

function template(
  uriTemplate: string,
  name: string,
  description: string,
  mimeType: string,
): ResourceTemplateType {
  return { uriTemplate, name, description, mimeType };
}

/** Most characters of a resource: clients put it into a conversation. */
const longestText = 1024 * 1024;
/** How many of the latest runs are searched for an artifact. */
const runsSearched = 200;

/** Missing resources and those of other principals get the same error. */
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
  if (name.kind === "profiles") return describeProfiles(session);
  const run = await seenRun(session, name.id);
  if (run === undefined) return undefined;
  if (name.kind === "run") {
    if (run.id !== name.id) return undefined;
    return describeRun(run, await isRunInterrupted(session.runtime.store, run));
  }
  return readPart(session, run, name.id, name.part);
}

/** The run of an id, if the principal may see it. */
async function seenRun(session: ClientSession, id: string): Promise<RunState | undefined> {
  const { store } = session.runtime;
  const runId = await store.findRun(id);
  return runId === undefined ? undefined : store.readRun(runId);
}

function describeProfiles({ runtime }: ClientSession): Found {
  const lines = runtime.profiles
    .offered()
    .map(({ description, name }) => `- ${printableLine(name)}: ${printableLine(description)}`);
  return { mimeType: markdown, text: ["# Profiles of sub-agents", "", ...lines].join("\n") };
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

/** Artifacts have no owner, so one is readable only if a visible run refers to it. */
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
  return `${headOf(text, longestText)}\n[… cut here: mandate show, logs and sessions print the whole text]`;
}
