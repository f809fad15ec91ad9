import type { Authority } from "./authority.ts";
import { intersect, type Selection } from "./selection.ts";

/** The most that a run may use and delegate, by the principal that starts it. */
export interface RunGrant {
  readonly authority: Authority;
  /** The tools that a session of another program's agent may call. */
  readonly sessionTools: readonly string[];
  readonly principal: { readonly id: string; readonly role: string };
  readonly depth: number;
  readonly timeMs: number;
  /** In US dollars; null: no cap. */
  readonly cost: number | null;
}

/** The principal of a run, where it is not the one that this process was opened for. */
export interface RunPrincipal {
  readonly id: string;
  readonly role: string;
  /** Absent: no further limit. */
  readonly scopes?: Selection | undefined;
}

/** The grant for another principal: the same, or less where that principal has scopes. */
export function grantTo(grant: RunGrant, by: RunPrincipal | undefined): RunGrant {
  if (by === undefined) return grant;
  const { id, role, scopes = "*" } = by;
  const held = { ...grant.authority, scopes: intersect(grant.authority.scopes, scopes) };
  return { ...grant, principal: { id, role }, authority: held };
}

/**
 * Adds the origins that a person named in the task to the egress allowlist. Their scheme distinguishes
 * them from configured hosts, so that a continued session keeps them.
 */
export function grantNamed(grant: RunGrant, origins: readonly string[]): RunGrant {
  const { ways_out: open = [] } = grant.authority;
  // An empty list means none: a person's task does not extend it.
  if (open === "*" || open.length === 0 || origins.length === 0) return grant;
  const opened = [...new Set([...open, ...origins])];
  return { ...grant, authority: { ...grant.authority, ways_out: opened } };
}

export function namedOrigins(open: Selection | undefined): readonly string[] {
  return open === "*" || open === undefined ? [] : open.filter((entry) => /^https?:/.test(entry));
}

/** The grant in a workspace: the right to write in it, unless it is read-only. */
export function grantIn(
  grant: RunGrant,
  { readOnly, workspace }: { workspace: string | null; readOnly?: boolean | undefined },
): RunGrant {
  const roots = workspace === null || readOnly ? [] : [workspace];
  return { ...grant, authority: { ...grant.authority, write_roots: roots } };
}
