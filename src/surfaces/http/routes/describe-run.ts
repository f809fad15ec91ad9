import { z } from "zod";
import { type CloseReason, closeReasons } from "../../../events/close-reason.ts";
import type { Delegation } from "../../../events/delegation.ts";
import { type AskWorkers, isRunInterrupted } from "../../../events/is-worked-on.ts";
import { noRootFacts, rootFactsOf } from "../../../events/root-facts.ts";
import { childrenByParent, type RunState } from "../../../events/run-state.ts";
import { spentIn } from "../../../events/spent.ts";
import type { RunRow, Store } from "../../../ports/store.ts";
import { earlyAnswerIn, resultOf } from "../../../sessions/delegation-result.ts";
import { harmlessLine } from "../../../sessions/harmless-text.ts";
import { listedRun } from "../../../sessions/listed-run.ts";
import { StoreMemory } from "../../../sessions/read-run.ts";
import { rootOf } from "../../../sessions/session.ts";
import {
  delegationResult,
  delegationRow,
  describeDelegation,
  earlyAnswer,
  estimated,
} from "./describe-delegation.ts";
import { listOf, moment } from "./shared-schemas.ts";

const runStates = ["running", "interrupted", "succeeded", "failed", "cancelled"] as const;

export const runRow = z.object({
  runId: z.string(),
  title: z.string().meta({ description: "The task in one line." }),
  application: z.string(),
  workspace: z.string().nullable(),
  profile: z.string().nullable().meta({ description: "Of the root; null: not created yet." }),
  model: z.string().nullable().meta({ description: "`provider/model` of the root." }),
  startedBy: z.string().nullable().meta({ description: "The token that started it." }),
  state: z.enum(runStates),
  closeReason: z
    .enum(closeReasons)
    .nullable()
    .meta({ description: "Why it failed or was cancelled; null otherwise." }),
  startedAt: moment,
  finishedAt: moment.nullable(),
  delegations: z.number(),
  failed: z.number().meta({ description: "Delegations that failed; cancelled ones do not count." }),
  kept: z
    .number()
    .meta({ description: "Failed delegations whose working copy waits for a merge or a discard." }),
  tokens: z.number(),
  cost: z.number(),
  estimated,
});

export const runDetail = runRow.extend({
  task: z.string(),
  budgetTokens: z.number(),
  rootId: z.string().nullable(),
  elapsedMs: z.number(),
  /** Parents before their children, each level in the order of its steps; at most a thousand. */
  tree: listOf(delegationRow),
  answer: earlyAnswer.nullable().meta({
    description: "The root's answer while background sub-agents keep the run open; null otherwise.",
  }),
  /** The root's result; null while it is open. Results of children are in their delegations. */
  result: delegationResult.nullable(),
});

const titleLength = 300;
const mostInTree = 1000;
/** The models of open delegations are only in events; longer logs are not read for them. */
const mostEventsRead = 5000;

/** What the rows of a page share. */
export interface RowsSurroundings {
  readonly workers: AskWorkers;
  /** The ids of the delegations that have a working copy. */
  readonly copies: ReadonlySet<string>;
}

export async function describeRow(
  store: Store,
  listed: RunRow,
  { copies, workers }: RowsSurroundings,
): Promise<z.infer<typeof runRow>> {
  const { row, run, spent, state } = await listedRun(store, listed, workers);
  const ends = run === undefined ? await endsOf(store, row) : endsIn(run);
  const { application, delegations, finishedAt, id, startedAt, task, workspace } = row;
  const { model, profile, startedBy } = row;
  return {
    runId: id,
    title: harmlessLine(task, titleLength),
    ...{ application, workspace, profile, model, startedBy },
    state,
    closeReason: ends.closeReason,
    startedAt,
    finishedAt,
    delegations,
    failed: ends.failed.length - ends.cancelled,
    kept: ends.failed.filter((each) => copies.has(each)).length,
    ...spent,
  };
}

export async function describeRun(
  store: Store,
  run: RunState,
  { copies, now }: { readonly copies: ReadonlySet<string>; readonly now: number },
): Promise<z.infer<typeof runDetail>> {
  const ends = endsIn(run);
  const isInterrupted = await isRunInterrupted(store, run);
  const root = rootOf(run);
  const contract = root && (await store.readContract(root.id).catch(() => undefined));
  const { model, profile, startedBy } = contract ? rootFactsOf(contract) : noRootFacts;
  const result = root && resultOf(run, root.id);
  const about = { isInterrupted, now, served: await servedIn(store, run) };
  const tree = [];
  for (const delegation of inOrder(run)) {
    tree.push(await describeDelegation(store, run, delegation, about));
  }
  return {
    runId: run.id,
    title: harmlessLine(run.task, titleLength),
    task: run.task,
    application: run.application,
    workspace: run.workspace,
    ...{ profile, model, startedBy },
    state: run.outcome ?? (isInterrupted ? "interrupted" : "running"),
    closeReason: ends.closeReason,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    elapsedMs: (run.finishedAt ?? now) - run.startedAt,
    budgetTokens: run.budgetTokens,
    delegations: run.delegations.size,
    failed: ends.failed.length - ends.cancelled,
    kept: ends.failed.filter((each) => copies.has(each)).length,
    ...spentIn(run),
    rootId: root?.id ?? null,
    tree,
    answer: earlyAnswerIn(run),
    result: result ? withoutChildren(result) : null,
  };
}

/** Drops the results of children, which their delegations have. */
export function withoutChildren<Result extends { readonly subDelegations?: unknown }>(
  result: Result,
): Omit<Result, "subDelegations"> {
  const { subDelegations: _, ...own } = result;
  return own;
}

/** Parents before their children, each level in the order of its steps. */
function inOrder(run: RunState): readonly Delegation[] {
  const children = childrenByParent(run);
  const found: Delegation[] = [];
  const visit = (parentId: string | null): void => {
    for (const delegation of children.get(parentId) ?? []) {
      if (found.length === mostInTree) return;
      found.push(delegation);
      visit(delegation.id);
    }
  };
  visit(null);
  return found;
}

async function servedIn(
  store: Store,
  run: RunState,
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  if (run.outcome !== null || run.lastRunSeq > mostEventsRead) return undefined;
  const served = new Map<string, readonly string[]>();
  for await (const event of store.readEvents({ runId: run.id })) {
    if (event.type !== "agent.model_turn" || event.payload.served === null) continue;
    const { sub_agent_id: id = "" } = event;
    served.set(id, [...new Set([...(served.get(id) ?? []), event.payload.served])]);
  }
  return served;
}

/** How the delegations of a run ended. */
interface Ends {
  /** Why the run failed or was cancelled; null otherwise. */
  readonly closeReason: CloseReason | null;
  /** The ids of those that did not complete. */
  readonly failed: readonly string[];
  /** The number of delegations that were cancelled. */
  readonly cancelled: number;
}

const noEnds: Ends = { closeReason: null, failed: [], cancelled: 0 };

/** A finished run never changes, so its log is folded once. */
const known = new StoreMemory<Ends>(10_000);

/** The stored row of a finished run does not have this. */
async function endsOf(
  store: Store,
  { id, outcome }: Pick<RunRow, "id" | "outcome">,
): Promise<Ends> {
  if (outcome === null) return noEnds;
  const kept = known.get(store, id);
  if (kept !== undefined) return kept;
  // A damaged log is reported where the run itself is shown; a list shows the stored row.
  const run = await store.readRun(id).catch(() => undefined);
  const ends = run === undefined ? noEnds : endsIn(run);
  known.keep(store, id, ends);
  return ends;
}

function endsIn(run: RunState): Ends {
  const failed: string[] = [];
  let cancelled = 0;
  for (const delegation of run.delegations.values()) {
    if (delegation.status !== "closed" || delegation.finalStatus !== "failed") continue;
    failed.push(delegation.id);
    if (isCancellation(delegation.closeReason)) cancelled += 1;
  }
  return { closeReason: closeReasonIn(run), failed, cancelled };
}

function isCancellation(reason: CloseReason): boolean {
  return reason === "cancelled" || reason === "parent_closed";
}

function closeReasonIn(run: RunState): CloseReason | null {
  const root = rootOf(run);
  if (run.outcome === null || run.outcome === "succeeded") return null;
  // A run can also fail because of another delegation than its root.
  return root?.status === "closed" && root.finalStatus === "failed" ? root.closeReason : null;
}
