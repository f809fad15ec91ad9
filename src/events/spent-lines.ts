import type { StoredEvent } from "./event.ts";

/** What one run spent on one day, with one profile and one model. */
export interface SpentLine {
  readonly profile: string;
  readonly model: string;
  /** In universal time. */
  readonly day: string;
  readonly prompt: number;
  readonly completion: number;
  /** In US dollars. */
  readonly cost: number;
}

/** Adds up what a run spent, event by event, by everything that anybody asks for. */
export class SpentLines {
  readonly #lines = new Map<string, SpentLine>();
  readonly #profiles = new Map<string, string>();
  readonly #models = new Map<string, string>();

  see(event: StoredEvent): void {
    const { sub_agent_id: id = "" } = event;
    if (event.type === "agent.subagent_created") this.#profiles.set(id, event.payload.profile);
    // A turn is settled right after it was made; what failed is the one's that was asked last.
    if (event.type === "agent.model_turn") this.#models.set(id, event.payload.requested);
    if (event.type !== "agent.budget_settled") return;
    const { completion, cost, prompt } = event.payload;
    const profile = this.#profiles.get(id) ?? "";
    const model = this.#models.get(id) ?? "unknown";
    const day = new Date(event.at).toISOString().slice(0, 10);
    const key = JSON.stringify([profile, model, day]);
    const line = this.#lines.get(key) ?? { profile, model, day, ...nothing };
    this.#lines.set(key, {
      ...line,
      prompt: line.prompt + prompt,
      completion: line.completion + completion,
      cost: line.cost + cost,
    });
  }

  all(): readonly SpentLine[] {
    return [...this.#lines.values()];
  }
}

const nothing = { prompt: 0, completion: 0, cost: 0 };
