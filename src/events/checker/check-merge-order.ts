import type { EventPayloads, StoredEvent } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/** What became of a child, by sequence numbers. */
interface Course {
  readonly created: number;
  handedIn?: number;
  merged?: number;
}

interface Call {
  readonly started: number;
  /** When a child was last asked for before. */
  readonly askedBefore: number;
  isAlone: boolean;
}

/** By planner: at which rank each step of its plans is merged, where that is not its own index. */
type Ranks = Map<string, Map<number, number>>;

interface Calls {
  readonly open: Map<string, Call>;
  askedLast: number;
}

/**
 * I16: children that one call waits for are taken over by step, in whichever order they finished. Only where
 * that call alone can have asked for them: otherwise another one may have had its child merged
 * before this one began, and the log does not say when a merge began.
 */
export function checkMergeOrder(run: CheckedRun): RunCheck {
  const courses = new Map<Known, Course>();
  const callsOf = new Map<Known, Calls>();
  const ranks: Ranks = new Map();
  const rankOf = ({ created }: Known): number =>
    ranks.get(created.parent_id ?? "")?.get(created.step_idx) ?? created.step_idx;

  function begin(parent: Known, { payload, seq }: StoredEvent<"agent.tool_started">): void {
    const calls = callsOf.get(parent) ?? { open: new Map<string, Call>(), askedLast: 0 };
    callsOf.set(parent, calls);
    const call = { started: seq, askedBefore: calls.askedLast, isAlone: calls.open.size === 0 };
    for (const other of calls.open.values()) other.isAlone = false;
    calls.open.set(payload.call_id, call);
    if (payload.polls === "results") calls.askedLast = seq;
  }

  function* outOfOrder(parent: Known, call: Call, ids: readonly string[]): Generator<Known> {
    const children = ids
      .flatMap((id) => run.delegations.get(id) ?? [])
      .filter((child) => child.parent === parent && mergedAt(child) > call.started)
      .sort((left, right) => mergedAt(left) - mergedAt(right));
    let highest: Known | undefined;
    for (const child of children) {
      const isLate = highest !== undefined && rankOf(child) < rankOf(highest);
      if (!isLate) highest = child;
      else if (highest !== undefined && isAskedForBy(call, highest)) yield child;
    }
  }

  const mergedAt = (child: Known): number => courses.get(child)?.merged ?? 0;
  const isAskedForBy = (call: Call, child: Known): boolean => {
    const { created = 0, handedIn = 0 } = courses.get(child) ?? {};
    return handedIn > call.started || created > call.askedBefore;
  };

  return {
    see(event, delegation) {
      if (event.type === "run.planned") noteRanks(ranks, event.payload);
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_created") {
        if (delegation.contract?.workspace.copy === undefined) return;
        courses.set(delegation, { created: event.seq });
      }
      // A call from before the first of them cannot have asked for any.
      if (courses.size === 0) return;
      const course = courses.get(delegation);
      switch (event.type) {
        case "agent.subagent_waiting_for_merge":
          if (course) course.handedIn = event.seq;
          break;
        case "agent.worktree_merged":
          // Where nothing was changed the order made no difference.
          if (course && (event.payload.files?.length ?? 0) > 0) course.merged = event.seq;
          break;
        case "agent.tool_started":
          begin(delegation, event);
          break;
        case "agent.tool_completed": {
          const { call_id: id, delivered = [] } = event.payload;
          const call = callsOf.get(delegation)?.open.get(id);
          callsOf.get(delegation)?.open.delete(id);
          if (!call?.isAlone || delivered.length < 2) break;
          for (const child of outOfOrder(delegation, call, delivered)) {
            const message = `It is step ${child.created.step_idx}, and was merged after a later one.`;
            run.report("I16", message, { delegationId: child.id, seq: event.seq });
          }
          break;
        }
        case "agent.interrupted":
          // Children that continue are merged, and steps before them begin when it is resumed.
          for (const call of callsOf.get(delegation)?.open.values() ?? []) call.isAlone = false;
          break;
        case "agent.tool_failed":
        case "agent.tool_outcome_unknown":
          callsOf.get(delegation)?.open.delete(event.payload.call_id);
          break;
        case "agent.subagent_closed":
          callsOf.delete(delegation);
          break;
        default:
      }
    },
  };
}

function noteRanks(ranks: Ranks, plan: EventPayloads["run.planned"]): void {
  const { by, first_step: first, merge_order: order } = plan;
  if (first === undefined || order === undefined) return;
  const of = ranks.get(by) ?? new Map<number, number>();
  ranks.set(by, of);
  for (const [rank, place] of order.entries()) of.set(first + place, first + rank);
}
