import type { Contract } from "../contracts/contract.ts";
import type { Carried, Exposure } from "../contracts/exposure.ts";
import { type FindExposure, trifectaOf } from "../contracts/trifecta.ts";
import type { Evidence } from "../events/seal.ts";
import type { Tool } from "./tool.ts";

export function exposuresIn(find: (name: string) => Tool | undefined): FindExposure {
  return (name) => find(name)?.exposure;
}

/** The exposure of tools that read the workspace: its content is untrusted, and private. */
export const ofWorkspace: Exposure = Object.freeze({
  untrusted: true,
  private: "workspace",
  wayOut: false,
});

/** The promises of a tool that reads files of the workspace and changes nothing. */
export const readsFiles = {
  effect: "read",
  exposure: ofWorkspace,
  idempotent: true,
  scopes: ["files:read"],
  changes: "none",
} as const;

/** How untrusted input reached the holder of a contract; null: none has. */
export function untrustedIn(
  { parent, permissions }: Contract,
  evidence: Pick<Evidence, "untrusted">,
): string | null {
  if (evidence.untrusted !== null) return evidence.untrusted;
  if (parent.carries?.includes("untrusted")) return "what it began with";
  // Every request contains what MCP servers say of their tools.
  return permissions.allowed_tools.some((tool) => tool.startsWith("mcp__")) ? "mcp" : null;
}

/**
 * What the tasks and messages of a delegation carry to their receivers. After untrusted input, a
 * delegation may pass on everything that it can read. `isTold`: the current call got untrusted
 * results that are not logged yet.
 */
export function carriedBy(
  toolbox: { get(name: string): Tool | undefined },
  contract: Contract,
  evidence: Pick<Evidence, "holdsPrivate" | "untrusted">,
  isTold = false,
): readonly Carried[] {
  if (!isTold && untrustedIn(contract, evidence) === null) return carriesNothing;
  const isPrivate =
    evidence.holdsPrivate ||
    trifectaOf(
      contract,
      exposuresIn((name) => toolbox.get(name)),
    ).private;
  return isPrivate ? carriesBoth : carriesUntrusted;
}

const carriesNothing: readonly Carried[] = Object.freeze([]);
export const carriesUntrusted: readonly Carried[] = Object.freeze(["untrusted"]);
export const carriesBoth: readonly Carried[] = Object.freeze(["untrusted", "private"]);
