import { externalProvider, modelName } from "../../contracts/contract.ts";
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
  /** Whether a delegation is below another one, in its run or an earlier one of its session. */
  isBelow(live: LiveDelegation, id: string): Promise<boolean>;
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
    const mayResume = resumes !== undefined && (await this.#mayResume(live.parent, resumes));
    let next = (mayResume ? resumes : undefined) ?? live.state.resumedFrom ?? undefined;
    const seen = new Set([live.id]);
    while (next !== undefined && !seen.has(next)) {
      seen.add(next);
      next = await this.#addEarlier(store, next, found);
    }
    return found;
  }

  async resumable(
    id: string,
  ): Promise<{ readonly document: string } | { readonly problem: string }> {
    const { live } = this.#of;
    const { store } = live.run.parts;
    const none = { problem: `there is no workflow ${id} that this agent can resume.` };
    if (!(await this.#mayResume(live, id))) return none;
    const runId = await store.findRun(id);
    const delegation = runId && (await store.readRun(runId))?.delegations.get(id);
    if (!delegation || !(await this.#isOwn(id))) return none;
    if (delegation.status !== "closed") {
      return { problem: `workflow ${id} has not ended: wait for it, or cancel it first.` };
    }
    for (const { payload, type } of await readJournal(store, id)) {
      if (type === "agent.workflow_started") return { document: payload.document };
    }
    return none;
  }

  /**
   * Whether a workflow of this caller (null: of a surface) may take results of that one, if it has the
   * same principal. The documents of agents can name anything, so an agent gets what is below it; for
   * another program's agent, as for a surface, the principal decides.
   */
  async #mayResume(caller: LiveDelegation | null, id: string): Promise<boolean> {
    if (caller === null) return modelName(this.#of.live.contract) === workflowModelName;
    const { model } = caller.contract;
    return model.provider === externalProvider || (await this.#of.isBelow(caller, id));
  }

  /** Whether it has this delegation's principal. */
  async #isOwn(id: string): Promise<boolean> {
    const { contract, run } = this.#of.live;
    return (await run.parts.store.readContract(id)).principal.id === contract.principal.id;
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
    if (!(await this.#isOwn(id))) return undefined;
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
