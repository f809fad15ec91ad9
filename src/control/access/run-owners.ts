import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoredEvent } from "../../events/event.ts";
import { isControlEvent } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { everybody, type Owner } from "../records/principal.ts";

type OwnerSource = Pick<Store, "readEvents" | "readContract">;

/** Each entry is two short texts, so this is a few megabytes. */
const mostKept = 50_000;

/** An embedded database never yields: after this many reads other work gets a turn. */
const perTurn = 20;

/** The owners of runs, cached: an owner never changes. */
export class RunOwners {
  readonly #store: OwnerSource;
  readonly #owners = new Map<string, string>();
  #reads = 0;

  constructor(store: OwnerSource) {
    this.#store = store;
  }

  /** From the cache alone; undefined for a run that was not read yet. */
  known(runId: string): string | undefined {
    return this.#owners.get(runId);
  }

  /** The principal in the contract of the run's root. */
  async of(runId: string): Promise<string | undefined> {
    const known = this.#owners.get(runId);
    if (known !== undefined) return known;
    if (++this.#reads % perTurn === 0) await nextTurn();
    const owner = await this.#read(runId);
    if (owner === undefined) return undefined;
    const [oldest] = this.#owners.keys();
    if (this.#owners.size >= mostKept && oldest !== undefined) this.#owners.delete(oldest);
    this.#owners.set(runId, owner);
    return owner;
  }

  async ofEvent(event: StoredEvent): Promise<Owner> {
    return isControlEvent(event.type) ? ownerOfDecision(event) : this.of(event.run_id);
  }

  async #read(runId: string): Promise<string | undefined> {
    const types = ["agent.subagent_created"] as const;
    for await (const { payload, sub_agent_id: id, type } of this.#store.readEvents({
      runId,
      types,
    })) {
      if (type !== "agent.subagent_created" || payload.parent_id !== null || !id) continue;
      try {
        return (await this.#store.readContract(id)).principal.id;
      } catch (error) {
        // An invalid contract names no owner.
        if (error instanceof MandateError && error.code === "contract-invalid") return undefined;
        throw error;
      }
    }
    return undefined;
  }
}

/** Records of the registry, pins, trusted content and profiles, which every token may read. */
const sharedRecords = ["policy/", "profile/"];

/**
 * The owner of an entry of the control log: the principal that caused it, unless every token may
 * read the record.
 */
export function ownerOfDecision(event: StoredEvent): Owner {
  switch (event.type) {
    case "control.record_changed": {
      const { actor, record } = event.payload;
      return sharedRecords.some((prefix) => record.startsWith(prefix)) ? everybody : actor;
    }
    case "command.executed":
      return event.payload.actor;
    default:
      return undefined;
  }
}

const byStore = new WeakMap<OwnerSource, RunOwners>();

/** One cache for each store. */
export function runOwnersOf(store: OwnerSource): RunOwners {
  const owners = byStore.get(store) ?? new RunOwners(store);
  byStore.set(store, owners);
  return owners;
}
