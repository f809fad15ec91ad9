import type { Resource, ResourceTemplateType } from "@modelcontextprotocol/server";
import type { Delegation } from "../../../events/delegation.ts";
import { headOf } from "../../../text.ts";
import { printableLine } from "../../cli/printable.ts";
import type { ClientSession } from "../client-session.ts";
import { delegationUri, runUri } from "./resource-uri.ts";

/** The latest alone: what is older is read by its id. */
const mostRuns = 50;
const mostDelegations = 100;

/** The runs that the principal sees, and what this client delegated. */
export async function listResources(session: ClientSession): Promise<readonly Resource[]> {
  const { store } = session.runtime;
  const resources: Resource[] = [];
  for (const one of session.sessions) {
    const run = await store.readRun(one.runId);
    const below = [...(run?.delegations.values() ?? [])].filter(
      ({ id }) => id !== one.delegationId,
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

export const resourceTemplates: readonly ResourceTemplateType[] = [
  template("mandate://runs/{id}", "run", "A run and the tree of its delegations.", json),
  template(
    "mandate://delegations/{id}/result",
    "delegation result",
    "How a delegation ended, and what the runtime recorded of it.",
    json,
  ),
  template(
    "mandate://delegations/{id}/report",
    "delegation report",
    "What a delegation handed in, whole.",
    markdown,
  ),
  template(
    "mandate://delegations/{id}/transcript",
    "delegation transcript",
    "What a delegation said and did.",
    markdown,
  ),
  template(
    "mandate://delegations/{id}/events",
    "delegation events",
    "Its event log, one JSON document a line.",
    "application/jsonl",
  ),
  template(
    "mandate://artifacts/{hash}",
    "artifact",
    "A result that was too large to be given whole.",
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
