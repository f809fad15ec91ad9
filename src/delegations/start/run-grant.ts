import type { Authority } from "../../contracts/authority.ts";
import { intersect, type Selection } from "../../contracts/selection.ts";

/** What the person or program behind a run holds and may hand on. */
export interface RunGrant {
  readonly authority: Authority;
  /** What a session of another program's agent may call of our tools. */
  readonly sessionTools: readonly string[];
  readonly principal: { readonly id: string; readonly role: string };
  readonly depth: number;
  readonly timeMs: number;
  /** In US dollars; null: no cap. */
  readonly cost: number | null;
}

/** Whom a run is for, where that is not the one for whom this process was opened. */
export interface RunPrincipal {
  readonly id: string;
  readonly role: string;
  /** Absent: no further limit. */
  readonly scopes?: Selection | undefined;
}

/** The same grant in the hands of somebody else: never more, and less where scopes are named. */
export function grantTo(grant: RunGrant, by: RunPrincipal | undefined): RunGrant {
  if (by === undefined) return grant;
  const { id, role, scopes = "*" } = by;
  const held = { ...grant.authority, scopes: intersect(grant.authority.scopes, scopes) };
  return { ...grant, principal: { id, role }, authority: held };
}

/**
 * The origins that a person named in the task stay open after untrusted input. They are told apart
 * from configured hosts by their scheme, so that a continued session keeps them.
 */
export function grantNamed(grant: RunGrant, origins: readonly string[]): RunGrant {
  const { ways_out: open = [] } = grant.authority;
  // An empty list means none, whatever is named.
  if (open === "*" || open.length === 0 || origins.length === 0) return grant;
  const opened = [...new Set([...open, ...origins])];
  return { ...grant, authority: { ...grant.authority, ways_out: opened } };
}

export function namedOrigins(open: Selection | undefined): readonly string[] {
  return open === "*" || open === undefined ? [] : open.filter((entry) => /^https?:/.test(entry));
}

/** A workspace brings the right to write in it; without one there is nothing to write. */
export function grantIn(grant: RunGrant, workspace: string | null, readOnly?: boolean): RunGrant {
  const roots = workspace === null || readOnly ? [] : [workspace];
  return { ...grant, authority: { ...grant.authority, write_roots: roots } };
}
