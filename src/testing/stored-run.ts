import assert from "node:assert/strict";
import { type Acknowledged, checkStore } from "../events/checker/check-store.ts";
import type { EventPayloads, EventType, NewEvent, StoredEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { MandateError, type MandateErrorCode } from "../ports/mandate-error.ts";
import type { RecordChange } from "../ports/record-store.ts";
import type { Append, EventQuery, Ownership, Store } from "../ports/store.ts";
import { exampleContract } from "./example-contract.ts";

/** What the suite needs of a store's surroundings. Every call of `open` is a place of its own. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Opens the same place once more, as another process would, whether or not others have it open. */
  reopen(): Promise<Store>;
  /** Changes the stored contract of a delegation behind the store's back. */
  tamper?(delegationId: string): Promise<void>;
  /** Closes everything that was opened, and removes the place. */
  close(): Promise<void>;
}

export interface StoreTest {
  readonly title: string;
  /** The test damages what is stored on purpose; otherwise the log must pass the checker afterwards. */
  readonly damages?: true;
  run(place: StoreUnderTest): Promise<void>;
}

/** A run in a store, written by hand: for tests that are about stores and not about agents. */
export class StoredRun {
  readonly store: Store;
  readonly id: string;
  readonly by: Ownership;

  private constructor(store: Store, id: string, by: Ownership) {
    this.store = store;
    this.id = id;
    this.by = by;
  }

  static async start(
    store: Store,
    application = "suite",
    workspace: string | null = null,
  ): Promise<StoredRun> {
    const run = new StoredRun(store, store.newRunId(), store.ownership);
    await run.append({
      type: "run.started",
      payload: { task: "t", application, workspace, budget: { tokens: 1e6 }, ...run.by },
    });
    return run;
  }

  append(...events: readonly NewEvent[]): Promise<readonly StoredEvent[]> {
    return this.store.append({ runId: this.id, by: this.by, events });
  }

  /** The append that creates a delegation, to be made by the caller. */
  creation(id: string, ...followers: readonly NewEvent[]): Append {
    const contract = JSON.stringify(
      exampleContract({ parent: { ...exampleContract().parent, run_id: this.id } }),
    );
    const created = about(id, "agent.subagent_created", {
      parent_id: null,
      call_id: null,
      step_idx: 0,
      depth: 0,
      profile: "tester",
      title: "test",
      contract_hash: sha256(contract),
    });
    const contracts = new Map([[id, contract]]);
    return { runId: this.id, by: this.by, events: [created, ...followers], contracts };
  }

  /** A delegation that runs, in its first attempt. */
  async child(): Promise<string> {
    const id = this.store.newDelegationId();
    await this.store.append(this.creation(id, started(id), attempted(id)));
    return id;
  }

  finish(): Promise<readonly StoredEvent[]> {
    const cause = { code: "idle", ms: 5 } as const;
    const payload = { outcome: "failed", cause, reason: "test" } as const;
    return this.append({ type: "run.finished", payload });
  }
}

export function about<Type extends EventType>(
  id: string,
  type: Type,
  payload: EventPayloads[Type],
): NewEvent {
  return { type, sub_agent_id: id, payload } as NewEvent;
}

export const started = (id: string): NewEvent =>
  about(id, "agent.subagent_started", { strategy: "none" });

export const attempted = (id: string): NewEvent =>
  about(id, "agent.subagent_attempt", { attempt: 1, of: 2 });

/** An event that changes nothing, with a text to recognise it by. */
export const note = (id: string, message: string): NewEvent =>
  about(id, "agent.interjected", { from: "suite", severity: "info", message });

export const notes = (events: readonly StoredEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === "agent.interjected" ? [event.payload.message] : []));

export async function collect(store: Store, query: EventQuery = {}): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents(query)) events.push(event);
  return events;
}

export async function refused(append: Promise<unknown>, code: MandateErrorCode): Promise<void> {
  await assert.rejects(append, (error) => {
    assert.ok(error instanceof MandateError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });
}

/** What a store answers for: order, chain, contracts, stored state, agreement. */
const ownInvariants: ReadonlySet<string> = new Set(["I1", "I2", "I7", "I8", "I15"]);

export async function assertSound(
  store: Store,
  acknowledged: readonly Acknowledged[] = [],
): Promise<void> {
  const { violations } = await checkStore(store, { acknowledged });
  assert.deepEqual(
    violations.filter(({ invariant }) => ownInvariants.has(invariant)),
    [],
  );
}

/** A change of a record of the type that tests use. */
export const change = (id: string, expectedVersion: number, value: unknown): RecordChange => ({
  resourceType: "policy",
  resourceId: id,
  expectedVersion,
  value,
});

/** Adds one to a number that others add to as well; gives how often another writer was faster. */
export async function addOne(store: Store, id: string, actor: string): Promise<number> {
  for (let conflicts = 0; ; conflicts++) {
    const record = await store.readRecord("policy", id);
    const count = (record?.value as { count: number } | undefined)?.count ?? 0;
    try {
      await store.changeRecords([change(id, record?.version ?? 0, { count: count + 1 })], actor);
      return conflicts;
    } catch (error) {
      if (!(error instanceof MandateError && error.code === "conflict")) throw error;
      // Writers that conflicted should not do so again at once.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 8));
    }
  }
}
