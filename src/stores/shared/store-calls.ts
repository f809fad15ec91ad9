import type { Contract } from "../../contracts/contract.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import type { PreparedChange } from "../../events/record-change.ts";
import { controlRunId } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import type { Append, Store } from "../../ports/store.ts";
import { headOf } from "../../text.ts";

/** The records as their changes left them, from the events of these changes. */
export function changedRecords(
  prepared: readonly PreparedChange[],
  events: readonly StoredEvent[],
  actor: string,
): readonly (ControlRecord | null)[] {
  return prepared.map(({ resourceType, resourceId, text }, index) => {
    const event = events[index];
    if (text === null || event?.type !== "control.record_changed") return null;
    const { version } = event.payload;
    const value = parseJson(text);
    return { resourceType, resourceId, version, value, updatedBy: actor, updatedAt: event.at };
  });
}

/** The event of a command. */
export function commandNote(command: string, actor: string, outcome: string): Append {
  const payload = { command: cut(command), actor: cut(actor), outcome: cut(outcome) };
  const events = [{ type: "command.executed", payload } as const];
  return { runId: controlRunId, by: "operator", events };
}

/** Commands are remembered as a line is, whatever was typed; half a character is not kept. */
function cut(text: string): string {
  return headOf(text, 500);
}

export function closed(): MandateError {
  return new MandateError("closed", "The store is closed.");
}

/** A refusal that a caller may look at later, or never, as with every append. */
export function refuseAppend(isClosed: boolean): Promise<never> {
  const refused = Promise.reject(isClosed ? closed() : notAppendable());
  refused.catch(() => undefined);
  return refused;
}

function notAppendable(): MandateError {
  return new MandateError(
    "illegal-transition",
    "The control log takes no appends: changing a record or noting a command writes to it.",
  );
}

type Listener = (events: readonly StoredEvent[]) => void;

/** Those who hear of every committed event. */
export class Listeners {
  readonly #listeners = new Set<Listener>();

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(events: readonly StoredEvent[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(events);
      } catch (error) {
        // A listener failed; the event is committed, and the other listeners get it.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }
}

/** A contract as it was written, or the reason why it counts no more. */
export async function readStoredContract(
  store: Pick<Store, "readEvents">,
  delegationId: string,
  row: Readonly<Record<string, unknown>> | undefined,
): Promise<Contract> {
  if (row === undefined) {
    const pruned = await tellPruned(store, delegationId);
    const message = pruned ?? `There is no delegation ${delegationId}.`;
    throw new MandateError("unknown-delegation", message);
  }
  const json = String(row["context_json"]);
  if (sha256(json) !== row["contract_hash"]) throw new TamperedContract(delegationId);
  const { parseContract } = await import("../../contracts/parse-contract.ts");
  return parseContract(json);
}

/** A delegation whose contract was changed may still be ended for that very reason. */
export function isTrusted(delegation: Delegation): boolean {
  if (delegation.status === "failed") return delegation.failure.code === "policy_denied";
  return delegation.status === "closed" && delegation.closeReason === "policy_denied";
}

export class TamperedContract extends MandateError {
  readonly delegationId: string;

  constructor(delegationId: string) {
    super(
      "contract-invalid",
      `The stored contract of delegation ${delegationId} is not the one it was created with. It may do nothing more.`,
    );
    this.delegationId = delegationId;
  }
}
