import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { reportPath } from "../../contracts/contract.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import { type Cause, describeCause } from "../../events/cause.ts";
import { longestApproval } from "../../events/consent.ts";
import { type Failure, isOpen } from "../../events/delegation.ts";
import type { EventPayloads, FileEvidence } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";
import { revealHidden, visibleJson } from "../../ports/visible-text.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import type { ChangeProblem } from "../../workspaces/git/copies/change-problem.ts";
import type { CollectedChanges } from "../../workspaces/git/copies/collect-changes.ts";
import type { UnifiedDiff } from "../../workspaces/git/copies/diff-of.ts";
import { changesOutside, guardedChanges } from "../../workspaces/git/copies/judge-changes.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import { replaceFile } from "../../workspaces/replace-file.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import { type Rejection, Stopped } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { askPerson, consentOf } from "../turns/ask-person.ts";

/** The outcome of integrating the changes that a child made in its copy. */
export interface TakenOver {
  /** Absent: an error came before the merge. */
  readonly merge?: EventPayloads["agent.worktree_merged"];
  readonly files?: readonly FileEvidence[];
  /** The child completed its work, and its changes were not merged. */
  readonly rejected?: Rejection;
}

/**
 * Merges a child's copy into its caller's folder: in the order of steps, under the conditions of
 * its contract, all changes or none. Changes that are not merged stay in the copy.
 */
export async function takeOver(child: LiveDelegation, copy: WorkingCopy): Promise<TakenOver> {
  const { contract, process, run } = child;
  try {
    const copies = await run.parts.copies();
    const received = await run.execution.transport?.receiveWork(child, copy);
    const collected = received?.collected ?? (await copies.collect(copy, contract.step.title));
    const changes = withProblems(collected, received?.problems ?? []);
    const files = changes.files.map(({ path, before, after }) => ({ path, before, after }));
    const refused = judgeChanges(child, copy, files);
    const patch = files.length === 0 ? undefined : await copies.diff(copy, changes);
    const diff = patch && { diff: await run.parts.store.keepArtifact(patch.text) };
    const cause = refused ?? (patch && (await approveChanges(child, files, patch)));
    const merge = { conflicted_files: [], commit: changes.commit, ...diff };
    if (cause) return { merge: { strategy: "refused", ...merge }, files, rejected: { cause } };
    if (contract.workspace.keep === true && files.length > 0) {
      return { merge: { strategy: "kept", ...merge }, files };
    }
    const turn = child.parent?.process.merges?.turn(contract.parent.step_idx, child.id);
    if (turn) await child.work.interruptible(turn);
    child.work.throwIfStopped();
    process.end.merging = Promise.withResolvers();
    const result = await integrate(child, copies, copy, changes);
    if (result.status !== "merged") {
      const { status: strategy, sentence: text } = result;
      const conflicted_files = strategy === "conflict" ? result.files : [];
      const rejected: Rejection = { cause: { code: codeOf(result), text } };
      return { merge: { strategy, ...merge, conflicted_files }, files, rejected };
    }
    const merged = result.files.map(({ path, before, after }) => ({ path, before, after }));
    const evidence = merged.length > 0 && { files: merged };
    return { merge: { strategy: result.how, ...merge, ...evidence }, files };
  } catch (error) {
    endMerging(child);
    if (error instanceof Stopped || child.work.stopReason !== null)
      throw child.work.stopReason ?? error;
    return { rejected: { cause: { code: "changes_not_merged", text: messageOf(error) } } };
  }
}

/** Problems that only the machine of the child could see prevent the merge here as well. */
function withProblems(changes: CollectedChanges, sent: readonly ChangeProblem[]): CollectedChanges {
  const seen = new Set(changes.problems.map(({ kind }) => kind));
  const more = sent.filter(({ kind }) => !seen.has(kind));
  return more.length === 0 ? changes : { ...changes, problems: [...changes.problems, ...more] };
}

/** Why the contract does not allow these changes, as far as the changes themselves show it. */
function judgeChanges(
  child: LiveDelegation,
  copy: WorkingCopy,
  files: readonly FileEvidence[],
): Cause | undefined {
  if (child.contract.exit.evidence === "files" && files.length === 0) {
    return { code: "evidence_missing", evidence: "files" };
  }
  const paths = files.map(({ path }) => path);
  return objectionTo(child, copy, paths);
}

/**
 * Asked about the child's changes, and again about the paths of the merge: a rename in the target
 * moves a change to another path. Commands without a sandbox can write anywhere in their copy,
 * outside of the write roots as well.
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

/** The most paths that a seal names. */
const mostPaths = 500;

function listed(paths: readonly string[]): { paths: readonly string[]; total: number } {
  return { paths: paths.slice(0, mostPaths), total: paths.length };
}

async function approveChanges(
  child: LiveDelegation,
  files: readonly FileEvidence[],
  patch: UnifiedDiff,
): Promise<Cause | undefined> {
  if (child.contract.workspace.approval !== true) return undefined;
  const question = questionAbout(child, files, patch);
  if (question === undefined) return { code: "changes_too_many", files: files.length };
  const about = sha256(JSON.stringify(files));
  const asked = { callId: "merge", kind: "approval", about, question } as const;
  const outcome = await askPerson(child, asked);
  const consent = consentOf(outcome);
  if (consent.approved) return undefined;
  const { said } = consent;
  const reason = said !== undefined && { said };
  return { code: "merge_not_approved", answered: outcome.answered, ...reason };
}

/** The whole diff, or all file names and the command that shows the diff; undefined: too many. */
function questionAbout(
  { contract: { profile, step }, id }: LiveDelegation,
  files: readonly FileEvidence[],
  { text, truncated }: UnifiedDiff,
): string | undefined {
  const many = files.length === 1 ? "1 file" : `${files.length} files`;
  const names = files.map(({ path }) => `  ${visibleJson(path)}`).join("\n");
  const head = `May the changes of ${profile.id} (${revealHidden(step.title)}) be merged? (yes or no)\n${many}:\n${names}`;
  const whole = `${head}\n\n${revealHidden(text)}`;
  if (!truncated && whole.length <= longestApproval) return whole;
  const part = `${head}\n\nThe diff is too long for a question. Read all of it before you answer: mandate diff ${id}`;
  return part.length <= longestApproval ? part : undefined;
}

function integrate(
  child: LiveDelegation,
  copies: WorkingCopies,
  copy: WorkingCopy,
  changes: CollectedChanges,
): Promise<IntegrationResult> {
  const { deadlines, workspace } = child.contract;
  const { checks = [], owns } = workspace;
  const control = new AbortController();
  child.work.onStop((reason) => control.abort(reason));
  const { signal } = control;
  const timeoutMs = Math.min(deadlines.total, longestCheckMs);
  const about = { delegationId: child.id, objects: copy.objects, timeoutMs, signal };
  return copies.integrate({
    copy,
    changes,
    signal,
    objectTo: (paths) => {
      const objection = objectionTo(child, copy, paths);
      return objection && describeCause(objection);
    },
    ...(owns.length > 0 && { owns }),
    ...(checks.length > 0 && { check: child.run.parts.checksFor(checks, about) }),
  });
}

export const longestCheckMs = 1_800_000;

function codeOf(result: Exclude<IntegrationResult, { status: "merged" }>) {
  if (result.status === "conflict") return "merge_conflict";
  if (result.status === "violation") return "ownership_violation";
  if (result.reason === "problems") return "changes_refused";
  return result.reason === "check-failed" ? "check_failed" : "merge_refused";
}

export function endMerging({ process }: LiveDelegation): void {
  process.end.merging?.resolve();
  process.end.merging = null;
}

/** Gives the copy of a closed delegation back; changes that were not merged keep it. */
export function retireCopy({ contract, copy, process, run }: LiveDelegation): void {
  if (copy === null) return;
  const isKept = contract.workspace.keep === true;
  const isMerged = process.end.result?.status === "completed" && !isKept;
  void run.parts.copies().then((copies) => copies.retire(copy, isMerged));
}

/** A diff of an agent's changes, or of a range of commits in its repository. */
export async function changesOf(
  { contract, copy, run, workspace }: LiveDelegation,
  range: string | undefined,
): Promise<UnifiedDiff | { readonly problem: string }> {
  const root = workspace?.root ?? contract.workspace.root;
  if (root === null) return { problem: "there is no workspace, so there are no changes" };
  const copies = await run.parts.copies();
  try {
    if (copy === null || range !== undefined) return await copies.diffOfFolder(root, range);
    return await copies.diff(copy, await copies.collect(copy, contract.step.title));
  } catch (error) {
    if (error instanceof MandateError) return { problem: error.message };
    throw error;
  }
}

/** The state of a child's work when its report is written. */
type ReportState = "handed in" | "completed" | Failure;

/**
 * Writes a child's report where its contract says, below the workspace and never through a link.
 * Writing the same output twice gives the same file, so a crash in between is harmless.
 * Undefined when the contract wants no file, or the workspace cannot take one: the log has the
 * output. A `.gitignore` comes with our own folder, once; a person may remove it to keep reports.
 */
export async function writeReport(
  child: LiveDelegation,
  text: string,
  state: ReportState,
): Promise<string | undefined> {
  const { contract, id, run } = child;
  const { report_index: index, report_path_pattern: pattern } = contract.outputs;
  const { depth, run_id: runId, step_idx: step } = contract.parent;
  if (pattern === null || run.settings.workspace === null || depth === 0) return undefined;
  // Contracts of earlier versions have no index; on distributed runs, their step was not unique.
  const idx = index ?? (run.execution.log === null ? String(step) : `${step}-${id}`);
  const path = reportPath(pattern, { run: runId, id, idx });
  try {
    // In the run's own folder, also when the child has a copy: a report is no change to merge.
    const workspace = bindWorkspace({
      root: run.settings.workspace,
      isolation: "shared",
      allowWrites: false,
      forbidden: run.parts.forbidden,
    });
    const folder = resolveInside(workspace, dirname(path)).path;
    if (folder !== join(workspace.root, dirname(path))) return undefined;
    // Guarded: configuration that the next start reads, for instance a folder of profiles.
    const target = join(folder, basename(path));
    if (run.parts.guarded.some((place) => isBelow(target, place))) return undefined;
    const ours = join(workspace.root, ".mandate", "reports");
    const isNew = isBelow(folder, ours) && mkdirSync(ours, { recursive: true }) !== undefined;
    mkdirSync(folder, { recursive: true });
    const write = async (into: string, name: string, content: string): Promise<boolean> => {
      // No agent can write in our own folder, and with thousands of reports a search for links that
      // lead into it would take longer than everything else.
      const isOurs = isBelow(into, ours);
      const bound = bindWorkspace({ root: into, isolation: "custom", allowWrites: !isOurs });
      const place = isOurs ? { ...bound, allowWrites: true, writeRoots: [bound.root] } : bound;
      // Checked again: a link can appear at any moment.
      if (!isBelow(place.root, workspace.root)) return false;
      await replaceFile(place, name, Buffer.from(content));
      return true;
    };
    if (isNew) await write(ours, ".gitignore", "*\n").catch(() => false);
    const isWritten = await write(folder, basename(path), reportOf(child, text, state));
    return isWritten ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The first lines say how the child closed, so that no report reads as a success by mistake. */
function reportOf({ contract }: LiveDelegation, text: string, state: ReportState): string {
  const { parent, profile, step } = contract;
  const facts = [
    `- status: ${statusLine(state)}`,
    `- profile: ${profile.id}`,
    `- run: ${parent.run_id}`,
    `- step: ${parent.step_idx}`,
  ];
  const refusal =
    typeof state === "string"
      ? []
      : [`Not accepted: ${state.error}`, "The report below does not count."];
  return `${[`# ${step.title}`, facts.join("\n"), ...refusal, text].join("\n\n")}\n`;
}

function statusLine(state: ReportState): string {
  if (state === "handed in") return "not accepted yet: its changes are not merged";
  return state === "completed" ? state : `failed (${state.code})`;
}

/** The copies in which open delegations work, with the delegation of each. */
export async function usedCopies(store: Store): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>();
  for (const { id } of await store.listRuns({ open: true, limit: 10_000 })) {
    const run = await store.readRun(id);
    for (const delegation of run?.delegations.values() ?? []) {
      if (!isOpen(delegation)) continue;
      const copy = await copyIn(store, delegation.id);
      if (copy !== undefined) used.set(copy, delegation.id);
    }
  }
  return used;
}

/** A delegation whose contract cannot be read uses no copy: recovery closes it. */
async function copyIn(store: Store, id: string): Promise<string | undefined> {
  try {
    return (await store.readContract(id)).workspace.copy?.id;
  } catch (error) {
    if (error instanceof MandateError) return undefined;
    throw error;
  }
}

/** Throws when an open delegation works in this copy. */
export async function requireUnused(store: Store, copy: string): Promise<void> {
  const user = (await usedCopies(store)).get(copy);
  if (user === undefined) return;
  throw new MandateError(
    "not-resumable",
    `Delegation ${user} works in the copy of ${copy} already. Wait for it, or cancel it first.`,
  );
}

/** Removes the remains of copies after a crash, and completes merges that it interrupted. */
export async function tidyCopies({
  copies,
  hasCopies,
  store,
}: Pick<EngineParts, "copies" | "hasCopies" | "store">): Promise<void> {
  if (!hasCopies()) return;
  const inUse = async () => new Set((await usedCopies(store)).keys());
  await (await copies()).tidy(inUse);
}
