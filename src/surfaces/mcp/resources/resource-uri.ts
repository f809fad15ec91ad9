/** The parts of a delegation that can be read by themselves. */
export const delegationParts = ["result", "report", "transcript", "events"] as const;

export type DelegationPart = (typeof delegationParts)[number];

export type ResourceName =
  | { readonly kind: "run"; readonly id: string }
  | { readonly kind: "delegation"; readonly id: string; readonly part: DelegationPart }
  | { readonly kind: "artifact"; readonly hash: string };

const pattern =
  /^mandate:\/\/(?:runs\/(?<run>[0-9a-z-]{1,64})|delegations\/(?<delegation>[0-9a-f]{6,64})\/(?<part>[a-z]{1,16})|artifacts\/(?<hash>[0-9a-z:-]{8,160}))$/;

/** Undefined for what can be no resource of ours. */
export function parseResourceUri(uri: string): ResourceName | undefined {
  const { delegation, hash, part, run } = pattern.exec(uri.slice(0, 512))?.groups ?? {};
  if (run !== undefined) return { kind: "run", id: run };
  if (hash !== undefined) return { kind: "artifact", hash };
  const known = delegationParts.find((one) => one === part);
  if (delegation === undefined || known === undefined) return undefined;
  return { kind: "delegation", id: delegation, part: known };
}

export function runUri(id: string): string {
  return `mandate://runs/${id}`;
}

export function delegationUri(id: string, part: DelegationPart): string {
  return `mandate://delegations/${id}/${part}`;
}
