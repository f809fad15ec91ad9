import { rmSync } from "node:fs";
import type { CollectedChanges } from "../copies/collect-changes.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { pathInWorkspace } from "../raw-path.ts";
import { namesOf } from "../repository-refusal.ts";
import type { StepObserver } from "./apply-step.ts";
import { beginIntegration } from "./begin-integration.ts";
import { finishIntegration } from "./finish-integration.ts";
import { IntegrationQueue } from "./integration-queue.ts";
import type { IntegrationResult } from "./integration-result.ts";
import { type MergeCheck, runMergeCheck } from "./merge-check.ts";
import { refuse } from "./not-merged.ts";

export interface IntegrationRequest {
  readonly copy: WorkingCopy;
  readonly changes: CollectedChanges;
  /** Patterns, relative to the workspace, that every changed path must match; absent: any path. */
  readonly owns?: readonly string[];
  /** Says why these paths, relative to the workspace, must not change; asked of what is merged. */
  readonly objectTo?: (paths: readonly string[]) => string | undefined;
  /** Asks for a commit on the person's branch, where that is possible; see `planBranch`. */
  readonly commit?: { readonly message: string };
  /** Looks at the merged tree before it is applied. Must not integrate into the same place. */
  readonly check?: MergeCheck;
  readonly signal?: AbortSignal;
  /** For tests that stop the process after each thing that was done. */
  readonly observe?: StepObserver;
}

const tries = 3;

/**
 * Takes a child's changes over into the workspace that its copy was made of. One at a time for each
 * place, in the order of the calls. Afterwards the person's files are all as they were or all as
 * merged; uncommitted edits of theirs are part of the merge or a reason not to make it. Their HEAD,
 * branch and index are left alone unless a commit was asked for: the changes appear as uncommitted
 * edits. Asking again after a crash gives the recorded outcome.
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
  // Held only while the files are looked at or changed: a check may take its time.
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
        return refuse(request, place, "check-failed", [], sentence);
      }
    }
    const finish = () => {
      // From here on it cannot be stopped half-way: whoever ended it meanwhile is obeyed now.
      request.signal?.throwIfAborted();
      return finishIntegration(request, prepared, child);
    };
    const end = await queue.run(toplevel, async () => finish(), lock);
    if ("result" in end) return end.result;
    // What is remembered of the target may be what is wrong: everything is read again.
    rmSync(layoutOf(copy.home, copy.id).sourceIndex, { force: true });
    if (attempt < tries) continue;
    const files = end.blocked.map((path) => pathInWorkspace(prefix, path));
    const sentence = `${namesOf(files)} changed while the merge was being applied, or is in its way. Everything was put back; try again.`;
    return refuse(request, place, "changed-meanwhile", files, sentence);
  }
}
