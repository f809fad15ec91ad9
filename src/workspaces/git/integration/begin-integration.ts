import type { WorkingCopy } from "../copies/working-copy.ts";
import { explainGitFailure } from "../explain-git-failure.ts";
import { inspectRepository } from "../inspect-repository.ts";
import type { Place } from "../place.ts";
import { RepositoryRefused } from "../repository-refusal.ts";
import type { IntegrationRequest } from "./integrate.ts";
import { readOutcome } from "./integration-outcome.ts";
import type { IntegrationResult } from "./integration-result.ts";
import { judgeMerge } from "./judge-merge.ts";
import { isOwned } from "./match-ownership.ts";
import { conflict, refuse, violate } from "./not-merged.ts";
import { type PreparedMerge, prepareMerge, type ReadyMerge } from "./prepare-merge.ts";
import { recoverPlace } from "./recover-integration.ts";

export type BegunIntegration =
  | { readonly result: IntegrationResult }
  | { readonly prepared: ReadyMerge; readonly child: string };

/** Everything that can be decided without changing a file of the target. */
export async function beginIntegration(request: IntegrationRequest): Promise<BegunIntegration> {
  const { copy, changes, owns } = request;
  const { commit: child, problems } = changes;
  await recoverPlace(copy.home, copy.source.toplevel);
  if (problems.length > 0) {
    const files = problems.flatMap(({ paths }) => paths);
    const sentence = problems.map((problem) => problem.sentence).join(" ");
    return { result: await refuse(request, await placeOf(copy), "problems", files, sentence) };
  }
  if (child === null) {
    const nothing = { status: "merged", how: "nothing", child, files: [], commit: null } as const;
    return { result: nothing };
  }
  const recorded = readOutcome(copy);
  if (recorded?.child === child) return { result: recorded };
  if (owns !== undefined) {
    const foreign = changes.files.map(({ path }) => path).filter((path) => !isOwned(owns, path));
    if (foreign.length > 0) {
      return { result: await violate(request, await placeOf(copy), foreign) };
    }
  }
  const prepared = await prepare(request, child);
  if (prepared instanceof RepositoryRefused) {
    return { result: await refuse(request, undefined, "repository", [], prepared.message) };
  }
  const result = await judge(request, prepared);
  if (result !== undefined) return { result };
  return { prepared: prepared as ReadyMerge, child };
}

async function judge(
  request: IntegrationRequest,
  prepared: PreparedMerge,
): Promise<IntegrationResult | undefined> {
  const { copy, owns } = request;
  const { place } = prepared.inspection;
  switch (prepared.status) {
    case "conflict":
      return conflict(request, place, prepared.files);
    case "refused":
      return refuse(request, place, "repository", [], prepared.sentence);
    case "source-changed": {
      const sentence = `"${copy.source.toplevel}" is no longer what the working copy "${copy.id}" was made of. Look at its diff, and take over by hand what is still of use.`;
      return refuse(request, place, "source-changed", [], sentence);
    }
    case "ready": {
      const { violations, problem, paths } = await judgeMerge(copy, prepared, owns);
      if (violations.length > 0) return violate(request, place, violations);
      if (problem !== undefined) {
        return refuse(request, place, "problems", problem.paths, problem.sentence);
      }
      const objection = request.objectTo?.(paths);
      if (objection === undefined) return undefined;
      return refuse(request, place, "problems", [], objection);
    }
    default:
      return prepared satisfies never;
  }
}

/** What is wrong with the repository is an answer; what is wrong with us is thrown. */
async function prepare(
  { copy, changes, signal }: IntegrationRequest,
  commit: string,
): Promise<PreparedMerge | RepositoryRefused> {
  try {
    return await prepareMerge(copy, { ...changes, commit }, signal);
  } catch (error) {
    const explained = explainGitFailure(error, copy.source.toplevel);
    if (explained instanceof RepositoryRefused) return explained;
    throw explained;
  }
}

async function placeOf({ home, source }: WorkingCopy): Promise<Place | undefined> {
  try {
    return (await inspectRepository(source.toplevel, home)).place;
  } catch (error) {
    if (error instanceof RepositoryRefused) return undefined;
    throw error;
  }
}
