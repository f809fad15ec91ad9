import type { StoredEvent } from "../event.ts";
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

interface Calls {
  readonly open: Map<string, Call>;
  askedLast: number;
}

/** Calls that name children and have them taken over. */
const asking: ReadonlySet<string> = new Set(["spawn_await", "get_delegation_result"]);

/**
 * I16: children that one call waits for are taken over by step, whoever finished first. Only where
 * that call alone can have asked for them: otherwise another one may have had its child merged
 * before this one began, and the log does not say when a merge began.
 */
export function checkMergeOrder(run: CheckedRun): RunCheck {
  const courses = new Map<Known, Course>();
  const callsOf = new Map<Known, Calls>();

  function begin(parent: Known, { payload, seq }: StoredEvent<"agent.tool_started">): void {
    const calls = callsOf.get(parent) ?? { open: new Map<string, Call>(), askedLast: 0 };
    callsOf.set(parent, calls);
    const call = { started: seq, askedBefore: calls.askedLast, isAlone: calls.open.size === 0 };
    for (const other of calls.open.values()) other.isAlone = false;
    calls.open.set(payload.call_id, call);
    if (asking.has(payload.tool)) calls.askedLast = seq;
  }

  function* outOfOrder(parent: Known, call: Call, ids: readonly string[]): Generator<Known> {
    const children = ids
      .flatMap((id) => run.delegations.get(id) ?? [])
      .filter((child) => child.parent === parent && mergedAt(child) > call.started)
      .sort((left, right) => mergedAt(left) - mergedAt(right));
    let highest: Known | undefined;
    for (const child of children) {
      const isLate = highest !== undefined && child.created.step_idx < highest.created.step_idx;
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
