import { HttpProblem } from "../problem.ts";
import type { StreamLimits } from "./sse-limits.ts";

/** How many streams are open, and whose. */
export class StreamSlots {
  readonly #limits: Pick<StreamLimits, "perPrincipal" | "all">;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: Pick<StreamLimits, "perPrincipal" | "all">) {
    this.#limits = limits;
  }

  /** Gives what gives the place back. */
  take(principal: string): () => void {
    const open = this.#open.get(principal) ?? 0;
    const { perPrincipal, all } = this.#limits;
    if (open >= perPrincipal) {
      throw tooMany(`You have ${open} streams open, which is the most. Close one first.`);
    }
    if (this.#all >= all) {
      throw tooMany(
        `This server has ${this.#all} streams open, which is the most. Try again later.`,
      );
    }
    this.#open.set(principal, open + 1);
    this.#all++;
    return () => {
      const left = (this.#open.get(principal) ?? 1) - 1;
      if (left === 0) this.#open.delete(principal);
      else this.#open.set(principal, left);
      this.#all--;
    };
  }
}

function tooMany(detail: string): HttpProblem {
  return new HttpProblem("too-many-requests", detail, { headers: { "retry-after": "5" } });
}
