import { ResourceNotFoundError, type Server } from "@modelcontextprotocol/server";
import type { ClientSession } from "../client-session.ts";
import { listResources, resourceTemplates } from "./list-resources.ts";
import { readResource, seenRun } from "./read-resource.ts";
import { parseResourceUri } from "./resource-uri.ts";

/** More than a person looks at. */
const mostSubscriptions = 1000;

/** Runs and delegations that the principal sees, to be read. Gives the addresses that a client listens to. */
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
    // What is kept by its hash never changes.
    const id = name === undefined || name.kind === "artifact" ? "" : name.id;
    if ((await seenRun(await open(), id)) === undefined) throw new ResourceNotFoundError(uri);
    if (subscribed.size < mostSubscriptions) subscribed.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  return subscribed;
}
