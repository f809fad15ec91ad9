import type { CloseReason } from "../../events/close-reason.ts";
import { longestApproval } from "../../events/consent.ts";
import type { EventPayloads, FileEvidence } from "../../events/event.ts";
import { messageOf } from "../../ports/message-of.ts";
import { revealHidden, visibleJson } from "../../ports/visible-text.ts";
import type { ChangeProblem } from "../../workspaces/git/copies/change-problem.ts";
import type { CollectedChanges } from "../../workspaces/git/copies/collect-changes.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import { namesOf } from "../../workspaces/git/repository-refusal.ts";
import type { Agent } from "../agent.ts";
import { Stopped } from "../ends/ending.ts";
import { askPerson, isConsent } from "../turns/ask-person.ts";
import { changesOutside, guardedChanges } from "./guarded-changes.ts";
import { receiveWork } from "./remote-copy-bundles.ts";

export type Rejection = { readonly code: CloseReason; readonly error: string };

/** What became of the changes that a child made in its copy. */
export interface TakenOver {
  /** Absent: it did not get so far. */
  readonly merge?: EventPayloads["agent.worktree_merged"];
  readonly files?: readonly FileEvidence[];
  /** It finished its work, and that was not accepted. */
  readonly rejected?: Rejection;
}

/**
 * Brings what a child made in its copy into its caller's folder: when it is its turn, if its
 * contract's conditions hold, and all of it or nothing. What is not taken over stays in the copy.
 */
export async function takeOver(agent: Agent, copy: WorkingCopy): Promise<TakenOver> {
  try {
    const copies = await agent.run.parts.copies();
    const received = await receiveWork(agent, copies, copy);
    const collected = await copies.collect(copy, agent.contract.step.title);
    const changes = withProblems(collected, received?.problems ?? []);
    const files = changes.files.map(({ path, before, after }) => ({ path, before, after }));
    const unfit = judgeChanges(agent, copy, changes);
    const { diff, patch } = await keepDiff(agent, copies, copy, changes);
    if (unfit !== undefined) return refused(changes, unfit, { files, diff });
    const denied = await approveChanges(agent, files, patch);
    if (denied !== undefined) return refused(changes, denied, { files, diff });
    const turn = agent.parent?.merges?.turn(agent.contract.parent.step_idx);
    if (turn) await agent.interruptible(turn);
    agent.throwIfStopped();
    agent.merging = Promise.withResolvers();
    const result = await merge(agent, copies, copy, changes);
    return { files, ...asTakenOver(result, changes.commit, diff) };
  } catch (error) {
    endMerging(agent);
    if (error instanceof Stopped || agent.stopReason !== null) throw agent.stopReason ?? error;
    const why = `Its changes could not be taken over: ${messageOf(error)}`;
    return { rejected: { code: "merge_interrupted", error: why } };
  }
}

/** What was seen only where the work was done keeps it from being merged here as well. */
function withProblems(changes: CollectedChanges, told: readonly ChangeProblem[]): CollectedChanges {
  const seen = new Set(changes.problems.map(({ kind }) => kind));
  const more = told.filter(({ kind }) => !seen.has(kind));
  return more.length === 0 ? changes : { ...changes, problems: [...changes.problems, ...more] };
}

/** Conditions of the contract that the changes themselves tell about. */
function judgeChanges(
  agent: Agent,
  copy: WorkingCopy,
  changes: CollectedChanges,
): Rejection | undefined {
  if (agent.contract.exit.evidence === "files" && changes.files.length === 0) {
    const error = "The contract asks for changed files as evidence, and nothing was changed.";
    return { code: "exit_rule_unmet", error };
  }
  const error = objectionTo(
    agent,
    copy,
    changes.files.map(({ path }) => path),
  );
  return error === undefined ? undefined : { code: "policy_denied", error };
}

/**
 * Asked of what the child changed, and again of what would be merged: a file that was renamed
 * meanwhile takes the change with it. A command that no sandbox held can write anywhere in its
 * copy; that does not make it right.
 */
function objectionTo(
  { contract, run }: Agent,
  copy: WorkingCopy,
  paths: readonly string[],
): string | undefined {
  const outside = changesOutside(copy, paths, contract.permissions.write_roots);
  if (outside.length > 0) {
    return `It changed ${namesOf(outside)}, where its contract does not let it write. Nothing of it was taken over.`;
  }
  const touched = guardedChanges(copy, paths, run.parts.guarded, run.parts.isProtected);
  if (touched.length === 0) return undefined;
  return `It changed ${namesOf(touched)}, which is configuration that the next start obeys. Nothing of it was taken over.`;
}

async function keepDiff(
  agent: Agent,
  copies: WorkingCopies,
  copy: WorkingCopy,
  changes: CollectedChanges,
): Promise<{ readonly diff: Diff; readonly patch: Patch }> {
  if (changes.files.length === 0) return { diff: {}, patch: { text: "", truncated: false } };
  const patch = await copies.diff(copy, changes);
  return { diff: { diff: await agent.run.parts.store.keepArtifact(patch.text) }, patch };
}

type Patch = Awaited<ReturnType<WorkingCopies["diff"]>>;

async function approveChanges(
  agent: Agent,
  files: readonly FileEvidence[],
  patch: Patch,
): Promise<Rejection | undefined> {
  if (agent.contract.workspace.approval !== true || files.length === 0) return undefined;
  const question = questionAbout(agent, files, patch);
  if (question === undefined) {
    const error = `A person has to approve its changes, and even their names are too many to be shown (${files.length} files).`;
    return { code: "policy_denied", error };
  }
  const outcome = await askPerson(agent, "merge", question, "approval");
  if (isConsent(outcome)) return undefined;
  const error = outcome.answered
    ? "A person did not want its changes merged."
    : "Nobody said in time that its changes may be merged.";
  return { code: "policy_denied", error };
}

/** All of the changes, or all of their names and where the rest is read; undefined: too many. */
function questionAbout(
  { contract: { profile, step }, id }: Agent,
  files: readonly FileEvidence[],
  { text, truncated }: Patch,
): string | undefined {
  const many = files.length === 1 ? "1 file" : `${files.length} files`;
  const names = files.map(({ path }) => `  ${visibleJson(path)}`).join("\n");
  const head = `May the changes of ${profile.id} (${revealHidden(step.title)}) be merged? (yes or no) ${many}:\n${names}`;
  const whole = `${head}\n\n${revealHidden(text)}`;
  if (!truncated && whole.length <= longestApproval) return whole;
  const part = `${head}\n\nThe diff is too long for a question. Read all of it before you answer: mandate diff ${id}`;
  return part.length <= longestApproval ? part : undefined;
}

function merge(
  agent: Agent,
  copies: WorkingCopies,
  copy: WorkingCopy,
  changes: CollectedChanges,
): Promise<IntegrationResult> {
  const { deadlines, workspace } = agent.contract;
  const { checks = [], owns } = workspace;
  const control = new AbortController();
  agent.onStop((reason) => control.abort(reason));
  const { signal } = control;
  const timeoutMs = Math.min(deadlines.total, longestCheckMs);
  const about = { delegationId: agent.id, objects: copy.objects, timeoutMs, signal };
  return copies.integrate({
    copy,
    changes,
    signal,
    objectTo: (paths) => objectionTo(agent, copy, paths),
    ...(owns.length > 0 && { owns }),
    ...(checks.length > 0 && { check: agent.run.parts.checksFor(checks, about) }),
  });
}

export const longestCheckMs = 1_800_000;

type Diff = Pick<EventPayloads["agent.worktree_merged"], "diff">;

function asTakenOver(result: IntegrationResult, commit: string | null, diff: Diff): TakenOver {
  if (result.status === "merged") {
    const files = result.files.map(({ path, before, after }) => ({ path, before, after }));
    return {
      merge: {
        strategy: result.how,
        conflicted_files: [],
        commit,
        ...(files.length > 0 && { files }),
        ...diff,
      },
    };
  }
  const { files, sentence, status } = result;
  const conflicted = status === "conflict" ? files : [];
  return {
    merge: { strategy: status, conflicted_files: conflicted, commit, ...diff },
    rejected: { code: codeOf(result), error: sentence },
  };
}

function codeOf(result: Exclude<IntegrationResult, { status: "merged" }>): CloseReason {
  if (result.status === "conflict") return "merge_conflict";
  if (result.status === "violation") return "ownership_violation";
  if (result.reason === "problems") return "policy_denied";
  return result.reason === "check-failed" ? "exit_rule_unmet" : "merge_interrupted";
}

function refused(
  { commit }: CollectedChanges,
  rejected: Rejection,
  { files, diff }: { readonly files: readonly FileEvidence[]; readonly diff: Diff },
): TakenOver {
  return {
    merge: { strategy: "refused", conflicted_files: [], commit, ...diff },
    files,
    rejected,
  };
}

export function endMerging(agent: Agent): void {
  agent.merging?.resolve();
  agent.merging = null;
}

/** Its delegation has ended, and the log says so. */
export function retireCopy({ copy, result, run }: Agent): void {
  if (copy === null) return;
  const isMerged = result?.status === "completed";
  void run.parts.copies().then((copies) => copies.retire(copy, isMerged));
}
