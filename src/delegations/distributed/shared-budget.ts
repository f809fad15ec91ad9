import type { RunState } from "../../events/run-state.ts";
import { addTo, differenceOf, ownOf, type Spending, spendingAbove } from "../../events/spending.ts";
import { type Amount, Budget, nothing } from "../budget.ts";

/**
 * The budget of a delegation in a distributed run. Other processes spend from the same budget, so
 * what is left is read from the log each time, and a reservation counts when it is written: the fold
 * refuses what another worker was faster to take.
 */
export class SharedBudget extends Budget {
  readonly #run: { readonly log: RunState | null };
  readonly #id: string | null;

  constructor(
    of: { readonly run: { readonly log: RunState | null }; readonly id: string | null },
    above: Budget | null,
    tokens: number,
    dollars: number | null = null,
  ) {
    super(above, tokens, dollars);
    this.#run = of.run;
    this.#id = of.id;
  }

  /** Other workers may take what is free here before it is written. */
  override get certain(): Amount {
    return nothing;
  }

  /** Of what is spent above it, the log tells all. */
  protected override paying(): readonly Budget[] {
    return [this];
  }

  protected override line(): readonly Spending[] {
    const { log: state } = this.#run;
    if (state === null) return super.line() as readonly Spending[];
    const known = this.#id === null ? undefined : state.delegations.get(this.#id);
    // What was just reserved or reported here may not be written yet.
    const unwritten = known && differenceOf(ownOf(known), this.spent);
    return [...spendingAbove(state, this.#id)].map((one) => {
      const isOverrun = one.isOverrun || (one.id === this.#id && this.isOverrun);
      const spending = { ...one, isOverrun };
      if (unwritten !== undefined) addTo(spending, unwritten);
      return spending;
    });
  }
}
