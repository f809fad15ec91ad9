import type { Delegation } from "../../events/delegation.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";
import { apply, create } from "../../events/lifecycle.ts";
import { standsStill } from "../standing-still.ts";

/** From one moment to another, by the clock of the log; `to` is infinite while it lasts. */
export interface Standing {
  readonly from: number;
  readonly to: number;
}

interface Known {
  readonly parent: Known | undefined;
  state: Delegation;
  readonly openCalls: Map<string, EventPayloads["agent.tool_started"]>;
  /** How many of its children stand still. */
  below: number;
  since: number | null;
  readonly standings: Standing[];
}

/** When each delegation of a run only waited for a person, by the run's log. Its events in order. */
export class Standstills {
  readonly #known = new Map<string, Known>();

  see(event: StoredEvent): void {
    const { sub_agent_id: id } = event;
    if (id === undefined) return;
    if (event.type === "agent.subagent_created") {
      const state = create(event);
      const parent = this.#known.get(state.parentId ?? "");
      const openCalls: Known["openCalls"] = new Map();
      this.#known.set(id, { parent, state, openCalls, below: 0, since: null, standings: [] });
      return;
    }
    const known = this.#known.get(id);
    if (known === undefined) return;
    known.state = apply(known.state, event);
    follow(known.openCalls, event);
    consider(known, event.at);
  }

  of(id: string): readonly Standing[] {
    const known = this.#known.get(id);
    if (known === undefined) return [];
    const { since, standings } = known;
    if (since === null) return standings;
    return [...standings, { from: since, to: Number.POSITIVE_INFINITY }];
  }
}

function follow(openCalls: Known["openCalls"], event: StoredEvent): void {
  switch (event.type) {
    case "agent.tool_started":
      openCalls.set(event.payload.call_id, event.payload);
      break;
    case "agent.tool_completed":
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown":
      openCalls.delete(event.payload.call_id);
      break;
    default:
  }
}

/** What changes here may change those above it. */
function consider(known: Known, at: number): void {
  const { openCalls, parent, since, standings, state } = known;
  const isStill = standsStill(state, openCalls, known.below);
  if (isStill === (since !== null)) return;
  if (since !== null) standings.push({ from: since, to: at });
  known.since = isStill ? at : null;
  if (parent === undefined) return;
  parent.below += isStill ? 1 : -1;
  consider(parent, at);
}
