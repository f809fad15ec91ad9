import type { Principal } from "../../../control/records/principal.ts";
import type { Host } from "../host.ts";
import { workspaceOf } from "../workspace-of.ts";

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
