import { resolve } from "node:path";
import type { Principal } from "../../../control/records/principal.ts";
import { realFolder } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { isInside } from "../../mcp/client-folders.ts";
import type { Host } from "../route.ts";

/**
 * The folder of a request: the one that it names, or the server's first. Undefined for null, and on
 * a server without folders.
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
 * Throws for a folder that this server does not serve. Such runs, which another process started
 * with the same database, can be viewed here but not worked on.
 */
export async function requireServed(host: Host, workspace: string | null): Promise<void> {
  if (workspace !== null) await workspaceOf(host, workspace);
}

/**
 * Prefixes a session with its principal. Pins and read-only workspaces are stored by session, so a
 * principal must not reach a session of another one by its name.
 */
export function sessionOf({ id }: Principal, session: string | undefined): string | undefined {
  return session === undefined ? undefined : `${id}/${session}`;
}

/**
 * The real path of a request's folder: one of the server's folders or a folder below, after all
 * links are resolved; default: the first one. A folder outside and a missing folder get the same
 * error, so that clients cannot probe the file system.
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
  // Missing, unreadable and invalid paths are the same to the caller.
  const path = await realFolder(resolve(first, requested ?? "."));
  if (path !== undefined && workspaces.some((root) => isInside(root, path))) return path;
  throw new MandateError(
    "refused-by-policy",
    `There is no folder ${JSON.stringify(requested?.slice(0, 200) ?? first)} on this server. Name one of its folders or a folder below, or start the server with --workspace DIR.`,
  );
}
