import { sha256 } from "../../events/hash-chain.ts";
import type { WorkflowEvent } from "../../ports/delegator.ts";
import type { CallOutcome } from "./workflow-agent.ts";

type SettledPayload = Extract<WorkflowEvent, { type: "agent.workflow_settled" }>["payload"];

/** What a run of a script has recorded. */
export interface WorkflowHistory {
  readonly isStarted: boolean;
  readonly called: ReadonlySet<string>;
  /** By key, with the place in the order in which the script saw them. */
  readonly settled: ReadonlyMap<string, SettledPayload & { readonly position: number }>;
  /** When timers are due, by key. */
  readonly due: ReadonlyMap<string, number>;
  /** The hashes of the stored texts of child scripts, by key. */
  readonly scripts: ReadonlyMap<string, string>;
  /** How many phases and lines were noted. */
  readonly notes: number;
}

/** The fold of what one call has recorded. Pure. */
export function recordedIn(events: readonly WorkflowEvent[]): WorkflowHistory {
  const called = new Set<string>();
  const settled = new Map<string, SettledPayload & { readonly position: number }>();
  const due = new Map<string, number>();
  const scripts = new Map<string, string>();
  let isStarted = false;
  let notes = 0;
  for (const { payload, type } of events) {
    switch (type) {
      case "agent.workflow_started":
        isStarted = true;
        break;
      case "agent.workflow_called":
        called.add(payload.key);
        if (payload.due_at !== undefined) due.set(payload.key, payload.due_at);
        if (payload.script !== undefined) scripts.set(payload.key, payload.script);
        break;
      case "agent.workflow_settled":
        settled.set(payload.key, { ...payload, position: settled.size });
        break;
      case "agent.workflow_noted":
        notes += 1;
        break;
      default:
        throw type satisfies never;
    }
  }
  return { isStarted, called, settled, due, scripts, notes };
}

/** The event that records what a call came to. */
export function settlement({ key }: { readonly key: string }, given: CallOutcome): WorkflowEvent {
  const { completion, delegation, outcome } = given;
  return {
    type: "agent.workflow_settled",
    payload: {
      key,
      outcome,
      ...(delegation !== undefined && { delegation }),
      ...("error" in given && { error: given.error }),
      ...(completion !== undefined && { completion }),
    },
  };
}

/**
 * The identities of a script's calls: what a call asks for, and how many equal calls went before it.
 * Its place in the script is no part of it, so recorded results stand when the script is edited.
 */
export class CallKeys {
  readonly #counts = new Map<string, number>();

  /**
   * @example new CallKeys().next({ kind: "agent", prompt: "Look." }) // "5f0e…-1"
   */
  next(content: Readonly<Record<string, unknown>>): string {
    const hash = sha256(JSON.stringify(inOrder(content))).slice(0, 20);
    const count = (this.#counts.get(hash) ?? 0) + 1;
    this.#counts.set(hash, count);
    return `${hash}-${count}`;
  }
}

/** The value with the keys of its objects in order. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    entries
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, inOrder(each)]),
  );
}
