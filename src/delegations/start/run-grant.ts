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

/** A workspace brings the right to write in it; without one there is nothing to write. */
export function grantIn(grant: RunGrant, workspace: string | null, readOnly?: boolean): RunGrant {
  const roots = workspace === null || readOnly ? [] : [workspace];
  return { ...grant, authority: { ...grant.authority, write_roots: roots } };
}
