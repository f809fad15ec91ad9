import { existsSync, readFileSync } from "node:fs";
import { writeDurablySync } from "../../../files.ts";
import type { ChangedFile } from "../copies/collect-changes.ts";
import { layoutOf, refOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { namesOf } from "../git-failure.ts";
import { type Place, pathInWorkspace } from "../place.ts";
import type { IntegrationRequest } from "./integrate.ts";
import { type KeptIn, keepCommits } from "./plan-branch.ts";

/** Why nothing was merged although nothing conflicts. */
type RefusedIntegration =
  | "problems"
  | "repository"
  | "source-changed"
  | "changed-meanwhile"
  | "other-file-system"
  | "unwritable"
  | "check-failed";

interface NotMerged {
  /** Relative to the workspace. */
  readonly files: readonly string[];
  /** What, which, what next. */
  readonly sentence: string;
  /** Where the child's commit can be found; null when it made none. */
  readonly ref: string | null;
  readonly keptIn: KeptIn;
}

export type IntegrationResult =
  | {
      readonly status: "merged";
      /** `nothing`: the child changed nothing. `already`: the target had all of it. */
      readonly how: "fast-forward" | "three-way" | "already" | "nothing";
      /** The child's commit. */
      readonly child: string | null;
      /** What changed in the target, with the hashes of its own contents before and after. */
      readonly files: readonly ChangedFile[];
      /** On the person's branch, when that was asked for and possible. */
      readonly commit: string | null;
      readonly notCommitted?: string;
    }
  | ({ readonly status: "conflict" } & NotMerged)
  | ({ readonly status: "violation" } & NotMerged)
  | ({ readonly status: "refused"; readonly reason: RefusedIntegration } & NotMerged);

export type MergedResult = Extract<IntegrationResult, { status: "merged" }>;

/** The merge that was made of a copy last, if any; `child` says of which of its commits. */
export function readOutcome({ home, id }: WorkingCopy): MergedResult | undefined {
  const path = layoutOf(home, id).outcome;
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, "utf8")) as MergedResult;
}

export function writeOutcome({ home, id }: WorkingCopy, outcome: MergedResult): void {
  writeDurablySync(layoutOf(home, id).outcome, JSON.stringify(outcome));
}

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
