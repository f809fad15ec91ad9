import { rmSync } from "node:fs";
import { messageOf } from "../../../ports/message-of.ts";
import { describeFiles } from "../copies/collect-changes.ts";
import { layoutOf, type WorkingCopy } from "../copies/working-copy.ts";
import { explainGitFailure, namesOf, RepositoryRefused } from "../git-failure.ts";
import { inspectRepository } from "../inspect-repository.ts";
import { type Place, pathInWorkspace } from "../read-git.ts";
import type { StepObserver } from "./apply-step.ts";
import { carryOn, forgetCarried } from "./carried-state.ts";
import { applyMerge, OtherFileSystem } from "./carry-out-integration.ts";
import { readJournal } from "./integration-journal.ts";
import { IntegrationQueue } from "./integration-queue.ts";
import {
  conflict,
  type IntegrationResult,
  type MergedResult,
  type RequestedMerge,
  readOutcome,
  refuse,
  violate,
  writeOutcome,
} from "./integration-result.ts";
import { isOwned } from "./match-ownership.ts";
import {
  judgeMerge,
  type MergeCheck,
  type PreparedMerge,
  prepareMerge,
  type ReadyMerge,
  runMergeCheck,
} from "./prepare-merge.ts";
import { recoverPlace } from "./recover-integration.ts";

export interface IntegrationRequest extends RequestedMerge {
  /**
   * Returns why these merged paths, relative to the workspace, must not change; undefined: they
   * may.
   */
  readonly objectTo?: (paths: readonly string[]) => string | undefined;
  /** Checks the merged tree before it is applied. Must not integrate into the same place. */
  readonly check?: MergeCheck;
  readonly signal?: AbortSignal;
  /** A hook for tests that stop the process after each effect. */
  readonly observe?: StepObserver;
}

const tries = 3;

/**
 * Merges a child's changes into the workspace from which its copy was made. One integration at a
 * time for each place, in the order of the calls. Afterwards the person's files are either all
 * unchanged or all merged; their uncommitted edits are part of the merge, or prevent it. Their
 * HEAD, branch and index are unchanged: the changes appear as uncommitted edits. A call after a
 * crash returns the recorded outcome.
 */
export function integrate(request: IntegrationRequest): Promise<IntegrationResult> {
  const { copy } = request;
  const options = request.signal === undefined ? {} : { signal: request.signal };
  const queue = new IntegrationQueue(copy.home);
  return queue.run(copy.source.toplevel, () => integrateNow(request, queue), options);
}

async function integrateNow(
  request: IntegrationRequest,
  queue: IntegrationQueue,
): Promise<IntegrationResult> {
  const { copy } = request;
  const { toplevel, prefix } = copy.source;
  // Held only while files are read or changed: a check may take long.
  const lock = { purpose: "files" } as const;
  for (let attempt = 1; ; attempt++) {
    request.signal?.throwIfAborted();
    const begun = await queue.run(toplevel, () => beginIntegration(request), lock);
    if ("result" in begun) return begun.result;
    const { prepared, child } = begun;
    const { place } = prepared.inspection;
    if (request.check !== undefined && prepared.how !== "already") {
      const verdict = await runMergeCheck(copy, prepared, request.check);
      if (!verdict.passed) {
        const sentence = `The merged files did not pass: ${verdict.reason}`;
        return refuse(request, place, { reason: "check-failed", files: [], sentence });
      }
    }
    const finish = () => {
      // From here on it cannot be stopped half-way, so a cancellation takes effect now.
      request.signal?.throwIfAborted();
      return finishIntegration(request, prepared, child);
    };
    const end = await queue.run(toplevel, async () => finish(), lock);
    if ("result" in end) return end.result;
    // The cached index of the target may be wrong: everything is read again.
    rmSync(layoutOf(copy.home, copy.id).sourceIndex, { force: true });
    if (attempt < tries) continue;
    const files = end.blocked.map((path) => pathInWorkspace(prefix, path));
    const sentence = `${namesOf(files)} changed while the merge was being applied, or is in its way. Everything was restored; try again.`;
    return refuse(request, place, { reason: "changed-meanwhile", files, sentence });
  }
}

type BegunIntegration =
  | { readonly result: IntegrationResult }
  | { readonly prepared: ReadyMerge; readonly child: string };

/** Everything that can be decided without changing a file of the target. */
async function beginIntegration(request: IntegrationRequest): Promise<BegunIntegration> {
  const { copy, changes, owns } = request;
  const { commit: child, problems } = changes;
  await recoverPlace(copy.home, copy.source.toplevel);
  if (problems.length > 0) {
    const files = problems.flatMap(({ paths }) => paths);
    const sentence = problems.map((problem) => problem.sentence).join(" ");
    return {
      result: await refuse(request, await placeOf(copy), { reason: "problems", files, sentence }),
    };
  }
  if (child === null) {
    const nothing = { status: "merged", how: "nothing", child, files: [] } as const;
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
    return {
      result: await refuse(request, undefined, {
        reason: "repository",
        files: [],
        sentence: prepared.message,
      }),
    };
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
      return refuse(request, place, {
        reason: "repository",
        files: [],
        sentence: prepared.sentence,
      });
    case "source-changed": {
      const sentence = `"${copy.source.toplevel}" is no longer the place from which the working copy "${copy.id}" was made. Look at its diff, and apply what you need by hand.`;
      return refuse(request, place, { reason: "source-changed", files: [], sentence });
    }
    case "ready": {
      const { violations, problem, paths } = await judgeMerge(copy, prepared, owns);
      if (violations.length > 0) return violate(request, place, violations);
      if (problem !== undefined) {
        return refuse(request, place, {
          reason: "problems",
          files: problem.paths,
          sentence: problem.sentence,
        });
      }
      const objection = request.objectTo?.(paths);
      if (objection === undefined) return undefined;
      return refuse(request, place, { reason: "problems", files: [], sentence: objection });
    }
    default:
      return prepared satisfies never;
  }
}

/** A problem of the repository is a result; other errors are thrown. */
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

type FinishedIntegration =
  | { readonly result: IntegrationResult }
  /** Something was in the way, and everything was restored. */
  | { readonly blocked: readonly string[] };

/** Changes the target's files. */
async function finishIntegration(
  request: IntegrationRequest,
  prepared: ReadyMerge,
  child: string,
): Promise<FinishedIntegration> {
  const { copy } = request;
  const { changes, tree, how, inspection } = prepared;
  const { vault } = layoutOf(copy.home, copy.id);
  const files = await describeFiles(vault, copy.source.prefix, changes);
  const outcome: MergedResult = { status: "merged", how, child, files };
  if (changes.length === 0) {
    writeOutcome(copy, outcome);
    return { result: outcome };
  }
  const { objectFormat } = inspection.place;
  const merge = { changes, tree, outcome, objectFormat };
  try {
    const done = await applyMerge(copy, merge, request.observe ?? (() => undefined));
    if (done.status === "done") carryOn(copy, { inspection, tree }, changes);
    else forgetCarried(copy);
    if (done.status === "reverted") return { blocked: done.blocked };
    return { result: done.outcome as unknown as MergedResult };
  } catch (error) {
    forgetCarried(copy);
    const result = await explain(request, prepared, error);
    if (result === undefined) throw error;
    return { result };
  }
}

const ofTheFileSystem = ["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT"];

/** Problems of the target's disk. Undefined: an unexpected error. */
async function explain(
  request: IntegrationRequest,
  { inspection }: ReadyMerge,
  error: unknown,
): Promise<IntegrationResult | undefined> {
  const { home, id, source } = request.copy;
  if (error instanceof OtherFileSystem) {
    const sentence = `The files of "${source.toplevel}" are on several file systems and cannot be changed together. Look at the diff of "${id}", and apply it by hand.`;
    return refuse(request, inspection.place, { reason: "other-file-system", files: [], sentence });
  }
  // A remaining journal has to be recovered first.
  if (readJournal(home, id) !== undefined) return undefined;
  if (!ofTheFileSystem.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
  const sentence = `The files of "${source.toplevel}" could not be changed (${messageOf(error)}). Everything was restored. Check permissions and free space, then merge again.`;
  return refuse(request, inspection.place, { reason: "unwritable", files: [], sentence });
}
