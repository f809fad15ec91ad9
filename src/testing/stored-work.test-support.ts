import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Contract } from "../contracts/contract.ts";
import type { NewEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import type { Store } from "../ports/store.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { createWorkingCopy } from "../workspaces/git/copies/create-working-copy.ts";
import type { WorkingCopy } from "../workspaces/git/copies/working-copy.ts";
import { exampleContract } from "./example-contract.ts";
import { about, attempted, StoredRun, started } from "./stored-run.ts";
import { testFolder } from "./test-folder.test-support.ts";

export interface Shelf {
  readonly store: Store;
  readonly home: string;
}

/** A home with a database in it, as the product would have it; one of its own is gone when the test is. */
export function openShelf(given?: string): Shelf {
  const home = given ?? testFolder();
  const store = new SqliteStore({
    path: join(home, "mandate.db"),
    synchronous: "normal",
    artifacts: join(home, "artifacts"),
  });
  onTestFinished(() => store.close());
  return { store, home };
}

export interface ChildOptions {
  /** The folder that it gets a copy of; absent: it works in place. */
  readonly source?: string;
  /** An earlier copy that it goes on with. */
  readonly copy?: WorkingCopy;
  readonly workspace?: Partial<Contract["workspace"]>;
  /** Absent: it may write anywhere. */
  readonly writeRoots?: readonly string[];
  readonly parentId?: string;
  readonly title?: string;
}

export interface StoredChild {
  readonly id: string;
  /** Throws for one without. */
  readonly copy: WorkingCopy;
}

/** A delegation that runs, with the copy that its contract names. */
export async function startChild(
  { store, home }: Shelf,
  run: StoredRun,
  options: ChildOptions = {},
): Promise<StoredChild> {
  const id = store.newDelegationId();
  const { source, title = "test", parentId = null } = options;
  const copy =
    options.copy ??
    (source === undefined ? undefined : await createWorkingCopy({ source, id, home }));
  const example = exampleContract();
  const contract = JSON.stringify(
    exampleContract({
      parent: { ...example.parent, run_id: run.id, sub_agent_id: parentId },
      permissions: { ...example.permissions, write_roots: options.writeRoots ?? ["/"] },
      workspace: {
        allow_writes: true,
        ...(copy && {
          isolation: "sandbox",
          root: copy.root,
          base: copy.base,
          copy: { id: copy.id, of: join(copy.source.toplevel, copy.source.prefix) },
        }),
        ...options.workspace,
      },
    }),
  );
  const created = about(id, "agent.subagent_created", {
    ...{ parent_id: parentId, call_id: null, step_idx: 0, title, profile: "tester" },
    ...{ depth: parentId === null ? 0 : 1, contract_hash: sha256(contract) },
  });
  const events = [created, started(id), attempted(id)];
  const contracts = new Map([[id, contract]]);
  await store.append({ runId: run.id, by: run.by, events, contracts });
  return {
    id,
    get copy() {
      if (copy === undefined) throw new Error(`${id} has no copy`);
      return copy;
    },
  };
}

/** As the engine closes it; `merge` is what came of an integration before that. */
export async function closeChild(
  run: StoredRun,
  id: string,
  finalStatus: "completed" | "failed" = "failed",
  merge?: NewEvent<"agent.worktree_merged">["payload"],
): Promise<void> {
  const merged = merge === undefined ? [] : [about(id, "agent.worktree_merged", merge)];
  const reason = finalStatus === "completed" ? "integrated" : "cancelled";
  const ended =
    finalStatus === "completed"
      ? about(id, "agent.subagent_completed", { integrator: "test", reason })
      : about(id, "agent.subagent_failed", {
          code: reason,
          cause: { code: "cancelled", text: "test" },
          error: "test",
        });
  const output = { output: "done", output_hash: sha256("done") };
  await run.append(
    about(id, "agent.subagent_waiting_for_merge", output),
    ...merged,
    ended,
    about(id, "agent.subagent_closed", {
      sub_agent_id: id,
      step_idx: 0,
      final_status: finalStatus,
      close_reason: reason,
      seal: {
        ...{ summary: "", output_hash: null, turns: 0, tool_calls: 0, attempts: 1, served: [] },
        usage: { prompt: 0, completion: 0, cost: 0 },
      },
    }),
  );
}

/** A child that changed its copy, failed, and left its work behind. */
export async function leaveWork(
  shelf: Shelf,
  source: string,
  work: (copy: WorkingCopy) => void,
  workspace: Partial<Contract["workspace"]> = {},
): Promise<StoredChild & { readonly run: StoredRun }> {
  const run = await StoredRun.start(shelf.store);
  const child = await startChild(shelf, run, { source, workspace });
  work(child.copy);
  await closeChild(run, child.id);
  await run.finish();
  return { id: child.id, copy: child.copy, run };
}
