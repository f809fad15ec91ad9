import { type Cause, describeCause } from "../../events/cause.ts";
import { longestApproval } from "../../events/consent.ts";
import type { EventPayloads, FileEvidence } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { messageOf } from "../../ports/message-of.ts";
import { revealHidden, visibleJson } from "../../ports/visible-text.ts";
import type { ChangeProblem } from "../../workspaces/git/copies/change-problem.ts";
import type { CollectedChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { changesOutside, guardedChanges } from "../../workspaces/git/copies/guarded-changes.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import { type Rejection, Stopped } from "../ends/ending.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { askPerson, isConsent } from "../turns/ask-person.ts";

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
export async function takeOver(agent: LiveDelegation, copy: WorkingCopy): Promise<TakenOver> {
  try {
    const copies = await agent.run.parts.copies();
    const received = await agent.run.execution.travel.receiveWork(agent, copies, copy);
    const collected = await copies.collect(copy, agent.contract.step.title);
    const changes = withProblems(collected, received?.problems ?? []);
    const files = changes.files.map(({ path, before, after }) => ({ path, before, after }));
    const unfit = judgeChanges(agent, copy, changes);
    const { diff, patch } = await keepDiff(agent, copies, copy, changes);
    if (unfit !== undefined) return refused(changes, unfit, { files, diff });
    const denied = await approveChanges(agent, files, patch);
    if (denied !== undefined) return refused(changes, denied, { files, diff });
    const turn = agent.parent?.process.merges?.turn(agent.contract.parent.step_idx, agent.id);
    if (turn) await agent.interruptible(turn);
    agent.throwIfStopped();
    agent.process.end.merging = Promise.withResolvers();
    const result = await merge(agent, copies, copy, changes);
    return { files, ...asTakenOver(result, changes.commit, diff) };
  } catch (error) {
    endMerging(agent);
    if (error instanceof Stopped || agent.stopReason !== null) throw agent.stopReason ?? error;
    return { rejected: { cause: { code: "changes_not_merged", text: messageOf(error) } } };
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
  agent: LiveDelegation,
  copy: WorkingCopy,
  changes: CollectedChanges,
): Cause | undefined {
  if (agent.contract.exit.evidence === "files" && changes.files.length === 0) {
    return { code: "evidence_missing", evidence: "files" };
  }
  const paths = changes.files.map(({ path }) => path);
  return objectionTo(agent, copy, paths);
}

/**
 * Asked of what the child changed, and again of what would be merged: a file that was renamed
 * meanwhile takes the change with it. A command that no sandbox held can write anywhere in its
 * copy; that does not make it right.
 */
function objectionTo(
  { contract, run }: LiveDelegation,
  copy: WorkingCopy,
  paths: readonly string[],
): Cause | undefined {
  const outside = changesOutside(copy, paths, contract.permissions.write_roots);
  if (outside.length > 0) return { code: "wrote_outside", ...listed(outside) };
  const touched = guardedChanges(copy, paths, run.parts.guarded, run.parts.isProtected);
  return touched.length === 0 ? undefined : { code: "wrote_protected", ...listed(touched) };
}

/** As many as a seal names. */
const mostPaths = 500;

function listed(paths: readonly string[]): { paths: readonly string[]; total: number } {
  return { paths: paths.slice(0, mostPaths), total: paths.length };
}

async function keepDiff(
  agent: LiveDelegation,
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
  agent: LiveDelegation,
  files: readonly FileEvidence[],
  patch: Patch,
): Promise<Cause | undefined> {
  if (agent.contract.workspace.approval !== true || files.length === 0) return undefined;
  const question = questionAbout(agent, files, patch);
  if (question === undefined) return { code: "changes_too_many", files: files.length };
  const about = sha256(JSON.stringify(files));
  const asked = { callId: "merge", kind: "approval", about, question } as const;
  const outcome = await askPerson(agent, asked);
  if (isConsent(outcome)) return undefined;
  return { code: "merge_not_approved", answered: outcome.answered };
}

/** All of the changes, or all of their names and where the rest is read; undefined: too many. */
function questionAbout(
  { contract: { profile, step }, id }: LiveDelegation,
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
  agent: LiveDelegation,
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
    objectTo: (paths) => {
      const objection = objectionTo(agent, copy, paths);
      return objection && describeCause(objection);
    },
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
    rejected: { cause: { code: codeOf(result), text: sentence } },
  };
}

function codeOf(result: Exclude<IntegrationResult, { status: "merged" }>) {
  if (result.status === "conflict") return "merge_conflict";
  if (result.status === "violation") return "ownership_violation";
  if (result.reason === "problems") return "changes_refused";
  return result.reason === "check-failed" ? "check_failed" : "merge_refused";
}

function refused(
  { commit }: CollectedChanges,
  cause: Cause,
  { files, diff }: { readonly files: readonly FileEvidence[]; readonly diff: Diff },
): TakenOver {
  return {
    merge: { strategy: "refused", conflicted_files: [], commit, ...diff },
    files,
    rejected: { cause },
  };
}

export function endMerging(agent: LiveDelegation): void {
  agent.process.end.merging?.resolve();
  agent.process.end.merging = null;
}

/** Its delegation has ended, and the log says so. */
export function retireCopy({ copy, process, run }: LiveDelegation): void {
  if (copy === null) return;
  const isMerged = process.end.result?.status === "completed";
  void run.parts.copies().then((copies) => copies.retire(copy, isMerged));
}
