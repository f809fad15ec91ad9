import type { Contract } from "../../contracts/contract.ts";
import { parseContract } from "../../contracts/parse-contract.ts";
import type { StoredDelegation, StoredRows } from "../../ports/inspection.ts";
import type { Delegation } from "../delegation.ts";
import type { EventPayloads, StoredEvent } from "../event.ts";
import { sha256 } from "../hash-chain.ts";
import type { RunState } from "../run-state.ts";
import type { Report } from "./check-report.ts";

/** A check of some invariants, event by event: a run need not fit in memory. */
export interface RunCheck {
  see(event: StoredEvent, delegation: Known | undefined): void;
  end?(): void;
}

/** The phase of a delegation in the checker's own lifecycle. */
export type Phase = "created" | "running" | "waiting" | "integrated" | "failed" | "closed";

/** A delegation with a creation in the log. */
export interface Known {
  readonly id: string;
  readonly parent: Known | null;
  readonly created: EventPayloads["agent.subagent_created"];
  /** Undefined: the stored contract does not have the hash in the log, and is not used. */
  readonly contract: Contract | undefined;
  phase: Phase;
  /** An illegal event was found: further violations of this run are not reported. */
  isBroken: boolean;
}

/** The shared state of all checks of one run: its rows, and its delegations so far. */
export class CheckedRun {
  readonly id: string;
  readonly rows: StoredRows;
  readonly report: Report;
  readonly delegations = new Map<string, Known>();
  readonly #rows: ReadonlyMap<string, StoredDelegation>;

  constructor(id: string, rows: StoredRows, report: Report) {
    this.id = id;
    this.rows = rows;
    // A delegation with an illegal event is reported once.
    this.report = (invariant, message, where) => {
      if (!this.delegations.get(where?.delegationId ?? "")?.isBroken) {
        report(invariant, message, where);
      }
    };
    this.#rows = new Map(rows.delegations.map((row) => [row.id, row]));
  }

  rowOf(id: string): StoredDelegation | undefined {
    return this.#rows.get(id);
  }

  /** Adds a delegation at its creation. */
  add(id: string, created: Known["created"]): Known {
    const known: Known = {
      id,
      parent: created.parent_id === null ? null : (this.delegations.get(created.parent_id) ?? null),
      created,
      contract: this.#contractOf(id, created),
      phase: "created",
      isBroken: false,
    };
    this.delegations.set(id, known);
    return known;
  }

  #contractOf(id: string, created: Known["created"]): Contract | undefined {
    const row = this.#rows.get(id);
    if (row === undefined || sha256(row.contextJson) !== created.contract_hash) return undefined;
    try {
      return parseContract(row.contextJson);
    } catch {
      return undefined;
    }
  }
}

/** The delegation itself, its parent, and so on up. */
export function* withAncestors(delegation: Known): Generator<Known> {
  for (let one: Known | null = delegation; one !== null; one = one.parent) yield one;
}

/** A delegation in the log, for checks of processes and working copies outside the database. */
export interface CheckedDelegation {
  readonly id: string;
  readonly runId: string;
  /** `unclear`: the log is damaged. */
  readonly status: "open" | "completed" | "failed" | "unclear";
  readonly createdAt: number;
  readonly closedAt: number | null;
  /** The id of its working copy. */
  readonly copyId: string | null;
  /** The working copy is sent between machines, and may be on any of them. */
  readonly travels?: boolean;
  /** The changes stay in the copy, for a person. */
  readonly keeps?: true;
}

/** All delegations of a run, in the order of their creation. */
export function* tellDelegations(
  { delegations, id: runId }: CheckedRun,
  fold: RunState,
): Generator<CheckedDelegation> {
  for (const known of delegations.values())
    yield tell(known, runId, fold.delegations.get(known.id));
}

/** All stored delegations of a run whose log is damaged, as `unclear`. */
export function* tellRows({ id: runId, rows }: CheckedRun): Generator<CheckedDelegation> {
  for (const { id } of rows.delegations) yield { id, runId, ...unclear };
}

const unclear = { status: "unclear", createdAt: 0, closedAt: null, copyId: null } as const;

function tell(
  { contract, created, id, isBroken }: Known,
  runId: string,
  delegation: Delegation | undefined,
): CheckedDelegation {
  if (isBroken || !contract || delegation === undefined) return { id, runId, ...unclear };
  const { createdAt } = delegation;
  const copyId = contract.workspace.copy?.id ?? null;
  const isClosed = delegation.status === "closed";
  const status = isClosed ? delegation.finalStatus : "open";
  const closedAt = isClosed ? delegation.closedAt : null;
  const travels = created.bundle !== undefined;
  const keeps = contract.workspace.keep;
  return { id, runId, status, createdAt, closedAt, copyId, travels, ...(keeps && { keeps }) };
}
