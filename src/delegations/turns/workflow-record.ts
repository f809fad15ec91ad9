import { modelName } from "../../contracts/contract.ts";
import type { NewEvent } from "../../events/event.ts";
import { childrenOf } from "../../events/run-state.ts";
import { workflowModelName } from "../../models/plan-model.ts";
import type {
  DelegationResult,
  EarlierCall,
  WorkflowEvent,
  WorkflowRecorder,
} from "../../ports/delegator.ts";
import type { Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { storedResult } from "../../sessions/earlier-children.ts";
import type { LiveDelegation } from "../live-delegation.ts";

interface RecordingCall {
  readonly live: LiveDelegation;
  readonly callId: string;
  /** Notes what the call is given. */
  handing(result: DelegationResult | undefined): DelegationResult | undefined;
}

/** The workflow that one call carries out, as its delegation's log has it. */
export class CallWorkflow implements WorkflowRecorder {
  readonly #of: RecordingCall;

  constructor(of: RecordingCall) {
    this.#of = of;
  }

  async read(): Promise<readonly WorkflowEvent[]> {
    const { callId, live } = this.#of;
    await live.process.appends.durable();
    return readJournal(live.run.parts.store, live.id, callId);
  }

  async record(events: readonly WorkflowEvent[]): Promise<void> {
    const { callId, live } = this.#of;
    live.record(...events.map((one) => asEvent(live, callId, one)));
    await live.process.appends.durable();
  }

  async earlier(resumes: string | undefined): Promise<ReadonlyMap<string, EarlierCall>> {
    const { live } = this.#of;
    const { store } = live.run.parts;
    const found = new Map<string, EarlierCall>();
    // Only a run that a surface started names what it resumes, and only its own principal's.
    const isRoot = live.parent === null && modelName(live.contract) === workflowModelName;
    let next = (isRoot ? resumes : undefined) ?? live.state.resumedFrom ?? undefined;
    const seen = new Set([live.id]);
    while (next !== undefined && !seen.has(next)) {
      seen.add(next);
      next = await this.#addEarlier(store, next, found);
    }
    return found;
  }

  async resultOf(delegationId: string): Promise<DelegationResult | undefined> {
    return this.#of.handing(await storedResult(this.#of.live.run.parts.store, delegationId));
  }

  /** Adds the calls of one workflow; later ones win, unless they did not complete. Returns what it resumed. */
  async #addEarlier(
    store: Store,
    id: string,
    found: Map<string, EarlierCall>,
  ): Promise<string | undefined> {
    const runId = await store.findRun(id);
    const run = runId === undefined ? undefined : await store.readRun(runId);
    const delegation = run?.delegations.get(id);
    if (run === undefined || delegation === undefined) return undefined;
    const { principal } = await store.readContract(id);
    if (principal.id !== this.#of.live.contract.principal.id) return undefined;
    const closed = new Map(
      childrenOf(run, id).flatMap((child) => {
        const [, key] = child.callId?.split("/") ?? [];
        const result = resultOf(run, child.id);
        return key !== undefined && result?.status === "completed" ? [[key, child.id]] : [];
      }),
    );
    let resumed = delegation.resumedFrom ?? undefined;
    const labels = new Map<string, { readonly label: string; readonly taken?: string }>();
    const before = found.size;
    const add = (key: string, call: Omit<EarlierCall, "position">): void => {
      if (found.get(key)?.state === "completed") return;
      found.set(key, { ...call, position: before + found.size });
    };
    const order: string[] = [];
    const settled = new Map<string, Extract<WorkflowEvent, { type: "agent.workflow_settled" }>>();
    for (const { payload, type } of await readJournal(store, id)) {
      if (type === "agent.workflow_started") resumed = payload.resumes ?? resumed;
      else if (type === "agent.workflow_called") {
        const { key, label, taken_from: taken } = payload;
        labels.set(key, { label, ...(taken !== undefined && { taken }) });
      } else if (type === "agent.workflow_settled") {
        order.push(payload.key);
        settled.set(payload.key, { type, payload });
      }
    }
    // An agent that closed and was not settled before the crash has its result too.
    for (const key of new Set([...order, ...labels.keys()])) {
      const { label = "", taken } = labels.get(key) ?? {};
      const end = settled.get(key)?.payload;
      const source = end?.delegation ?? taken ?? closed.get(key);
      const isDone = end === undefined ? source !== undefined : end.outcome === "value";
      if (isDone) add(key, { label, state: "completed", ...(source && { delegation: source }) });
      else if (!found.has(key)) add(key, { label, state: end ? "failed" : "interrupted" });
    }
    return resumed;
  }
}

async function readJournal(
  store: Store,
  delegationId: string,
  callId?: string,
): Promise<readonly WorkflowEvent[]> {
  const found: WorkflowEvent[] = [];
  for await (const { payload, type } of store.readEvents({ delegationId })) {
    switch (type) {
      case "agent.workflow_started":
      case "agent.workflow_called":
      case "agent.workflow_settled":
      case "agent.workflow_noted":
        if (callId === undefined || payload.call_id === callId) {
          found.push({ type, payload } as WorkflowEvent);
        }
        break;
      default:
    }
  }
  return found;
}

/** The compiler cannot pair a type of the union with its payload. */
function asEvent({ id }: LiveDelegation, callId: string, one: WorkflowEvent): NewEvent {
  return { ...one, sub_agent_id: id, payload: { call_id: callId, ...one.payload } } as NewEvent;
}
