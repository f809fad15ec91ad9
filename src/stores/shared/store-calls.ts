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

/** The changed records, made from the events of the changes. */
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

/** A command is stored as one short line, whatever was typed. */
function cut(text: string): string {
  return headOf(text, 500);
}

export function closed(): MandateError {
  return new MandateError("closed", "The store is closed.");
}

/** Rejects an append. Like every append, it may be awaited later or never. */
export function refuseAppend(isClosed: boolean): Promise<never> {
  const refused = Promise.reject(isClosed ? closed() : notAppendable());
  refused.catch(() => undefined);
  return refused;
}

function notAppendable(): MandateError {
  return new MandateError(
    "illegal-transition",
    "Events cannot be appended to the control log directly. Use changeRecords or noteCommand instead.",
  );
}

type Listener = (events: readonly StoredEvent[]) => void;

/** Callbacks that get every committed event. */
export class Listeners {
  readonly #listeners = new Set<Listener>();

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(events: readonly StoredEvent[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(events);
      } catch (error) {
        // A failing listener must not affect the commit or the other listeners.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }
}

/** Reads a stored contract. Throws when it does not exist or was modified. */
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

/** True for a delegation that was closed because its contract was modified. */
export function isTrusted(delegation: Delegation): boolean {
  if (delegation.status === "failed") return delegation.failure.code === "policy_denied";
  return delegation.status === "closed" && delegation.closeReason === "policy_denied";
}

export class TamperedContract extends MandateError {
  readonly delegationId: string;

  constructor(delegationId: string) {
    super(
      "contract-invalid",
      `The stored contract of delegation ${delegationId} is not the one it was created with. The delegation cannot continue.`,
    );
    this.delegationId = delegationId;
  }
}
