import { resolve } from "node:path";
import type { Principal } from "../../../control/records/principal.ts";
import { realFolder } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { isInside } from "../../mcp/client-folders.ts";
import type { Host } from "../route.ts";

/**
 * The folder of a request: the one that it names, or the server's first. Null, and a server that
 * serves no folder, mean none.
 */
export async function folderOf(
  host: Host,
  requested: string | null | undefined,
): Promise<string | undefined> {
  if (requested === null) return undefined;
  if (requested === undefined && host.workspaces.length === 0) return undefined;
  return workspaceOf(host, requested);
}

/**
 * What was begun elsewhere, with this database, may be about a folder that this server does not
 * serve: it can be looked at here, and not be worked on.
 */
export async function requireServed(host: Host, workspace: string | null): Promise<void> {
  if (workspace !== null) await workspaceOf(host, workspace);
}

/**
 * Sessions belong to whoever names them: pins and read-only workspaces are kept by session, and
 * nobody decides for a session of somebody else by knowing what that is called.
 */
export function sessionOf({ id }: Principal, session: string | undefined): string | undefined {
  return session === undefined ? undefined : `${id}/${session}`;
}

/**
 * The folder that a request is about, as its real path. It has to be one of the server's folders or
 * lie below one after every link was followed; nothing said means the first of them. What lies
 * outside and what does not exist are refused in the same words, so that nobody can ask a server
 * what there is on its machine.
 */
export async function workspaceOf(
  { workspaces }: Pick<Host, "workspaces">,
  requested?: string | undefined,
): Promise<string> {
  const [first] = workspaces;
  if (first === undefined) {
    throw new MandateError(
      "refused-by-policy",
      "This server serves no folder. Start it with --workspace DIR.",
    );
  }
  // Not there, not ours to see, or no path at all: the same to the caller.
  const path = await realFolder(resolve(first, requested ?? "."));
  if (path !== undefined && workspaces.some((root) => isInside(root, path))) return path;
  throw new MandateError(
    "refused-by-policy",
    `There is no folder ${JSON.stringify(requested?.slice(0, 200) ?? first)} among those that this server serves. Name one of them or a folder below it, or start the server with --workspace DIR.`,
  );
}
