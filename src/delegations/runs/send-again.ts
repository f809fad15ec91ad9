import { externalProvider } from "../../contracts/contract.ts";
import { type Delegation, isOpen } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { Store } from "../../ports/store.ts";
import { workOf } from "../distributed/distributed-execution.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import type { EngineParts } from "../engine-parts.ts";
import { untilClosed } from "../session-children.ts";
import type { StartedRun } from "../start/run-request.ts";

/**
 * Has everything of a spread run worked on that nobody works on: whose worker is gone, and what was
 * made in the moment before somebody died. Undefined when there is nothing of that.
 */
export async function sendAgain(
  parts: EngineParts,
  state: RunState,
): Promise<StartedRun | undefined> {
  const { dispatcher, store, toolbox } = parts;
  const [root] = state.delegations.values();
  if (dispatcher === undefined || root === undefined) return undefined;
  let isAny = false;
  for (const delegation of [...state.delegations.values()]) {
    if (!(await isLeft(store, state, delegation))) continue;
    const contract = await store.readContract(delegation.id).catch(() => undefined);
    if (contract?.model.provider === externalProvider) {
      await cancelStored(store, toolbox, state.id, state.id, { code: "program_gone" });
      return undefined;
    }
    if (contract === undefined) {
      const text = "Its stored contract is not the one it was created with.";
      const changed = { code: "contract_invalid", text } as const;
      await cancelStored(store, toolbox, state.id, delegation.id, changed);
      continue;
    }
    isAny = true;
    const { fence = 0 } = delegation.share ?? {};
    const work = workOf({ contract, id: delegation.id });
    await dispatcher.dispatch(fence === 0 ? work : { ...work, after: fence });
  }
  if (!isAny) return undefined;
  let result: Promise<DelegationResult> | undefined;
  return {
    runId: state.id,
    delegationId: root.id,
    /** Most who send something again do not wait for it. */
    get result() {
      result ??= untilClosed(parts, { runId: state.id, id: root.id });
      return result;
    },
    /** Its worker knows its answer; here only its end is looked for. */
    get answer() {
      result ??= untilClosed(parts, { runId: state.id, id: root.id });
      return result;
    },
  };
}

/** The same for all spread runs, whatever application they belong to. */
export async function sendLost(parts: EngineParts): Promise<void> {
  const { store } = parts;
  let before: string | undefined;
  for (;;) {
    const rows = await store.listRuns({ open: true, limit: pageSize, ...(before && { before }) });
    for (const { id } of rows) {
      const state = await store.readRun(id);
      if (state?.spread) await sendAgain(parts, state);
    }
    // The oldest, which come last, are the likeliest to be lost.
    if (rows.length < pageSize) return;
    before = rows.at(-1)?.id;
  }
}

const pageSize = 1000;

async function isLeft(store: Store, state: RunState, delegation: Delegation): Promise<boolean> {
  const { parentId, share } = delegation;
  if (!isOpen(delegation) || share === undefined) return false;
  if (delegation.status === "waiting_for_merge" && parentId !== null) return false;
  if (share.worker !== null) return !(await store.isWorkerAlive(share.worker));
  // A watcher goes where the root is; a root that was never claimed may still be on its way.
  if (parentId === null && delegation.depth !== 0) return false;
  return parentId !== null || !(await store.isWorkerAlive(state.worker));
}
