import { refOf } from "../copies/copy-layout.ts";
import type { Place } from "../place.ts";
import { pathInWorkspace } from "../raw-path.ts";
import { namesOf } from "../repository-refusal.ts";
import { keepCommits } from "./hand-over-commits.ts";
import type { IntegrationRequest } from "./integrate.ts";
import type { IntegrationResult, RefusedIntegration } from "./integration-result.ts";

async function describe(
  { copy, changes }: IntegrationRequest,
  place: Place | undefined,
  files: readonly string[],
  sentence: string,
) {
  const { commit } = changes;
  const keptIn =
    commit === null || place === undefined
      ? ("vault" as const)
      : await keepCommits(copy, place, commit);
  return { files, sentence, ref: commit === null ? null : refOf(copy.id), keptIn };
}

/** Everything stays as it is, and the work stays reachable. */
export async function refuse(
  request: IntegrationRequest,
  place: Place | undefined,
  reason: RefusedIntegration,
  files: readonly string[],
  sentence: string,
): Promise<IntegrationResult> {
  const common = await describe(request, place, files, sentence);
  return { status: "refused", reason, ...common };
}

export async function violate(
  request: IntegrationRequest,
  place: Place | undefined,
  files: readonly string[],
): Promise<IntegrationResult> {
  const owned = (request.owns ?? []).join(", ") || "nothing";
  const sentence = `${namesOf(files)} was changed and does not belong to this step, which owns ${owned}.`;
  return { status: "violation", ...(await describe(request, place, files, sentence)) };
}

export async function conflict(
  request: IntegrationRequest,
  place: Place,
  found: readonly string[],
): Promise<IntegrationResult> {
  const { prefix } = request.copy.source;
  const files = found.map((path) => pathInWorkspace(prefix, path));
  const sentence = `${namesOf(files)} was changed on both sides and cannot be merged. Merge by hand from ${refOf(request.copy.id)}.`;
  return { status: "conflict", ...(await describe(request, place, files, sentence)) };
}
