import type { McpServer, Server, ServerNotifier } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { headOf } from "../../../text.ts";
import type { Era } from "../client-abilities.ts";
import type { Tasks } from "../tasks/tasks.ts";

/** Who talks to us over HTTP. */
export interface HttpClient {
  readonly principal: Principal;
  /** As it calls itself; not to be trusted. */
  readonly name: string;
  readonly era: Era;
}

/** What the HTTP endpoint needs to know of the server that it serves. */
export interface HttpService<Session> {
  /** What a client holds between its requests: the run that keeps what it delegates. */
  openSession(client: HttpClient): Session | Promise<Session>;
  closeSession(session: Session): void | Promise<void>;
  /** Whether something still works below it. */
  isBusy(session: Session): boolean | Promise<boolean>;
  /** A new server for one request (2026-07-28) or one session (2025-11-25), used by nobody else. */
  makeServer(session: Session, client: HttpClient): ServedServer | Promise<ServedServer>;
  /** Where calls of its servers go on as tasks. */
  readonly tasks?: Tasks | undefined;
  /** Tells of changes that the principal may know of, until what it gave is called. */
  watch?: ((principal: Principal, notify: ServerNotifier) => () => void) | undefined;
}

export type ServedServer = McpServer | Server;

/**
 * Stands for a principal as it is now. What was opened with another role or other scopes belongs,
 * from then on, to nobody: authority that was taken away is not used up first.
 */
export function ownerKeyOf({ allRuns, id, role, scopes }: Principal): string {
  return JSON.stringify([id, role, scopes ?? "*", allRuns === true]);
}

/** Whether an owner's key is that of a principal, whatever its role was. */
export function isOwnedBy(ownerKey: string, principalId: string): boolean {
  return ownerKey.startsWith(`[${JSON.stringify(principalId)},`);
}

const maxNameLength = 100;

export function clientNameOf(info: unknown): string {
  const name = (info as { readonly name?: unknown } | null | undefined)?.name;
  const isName = typeof name === "string" && name.trim() !== "";
  return isName ? headOf(name.trim(), maxNameLength) : "unknown client";
}
