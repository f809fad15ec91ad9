import type { Principal } from "../control/records/principal.ts";
import { requireRole } from "../control/records/require-role.ts";
import {
  type DelegationDiff,
  type DiffOptions,
  diffOfDelegation,
} from "../delegations/changes/diff-of-delegation.ts";
import {
  type DiscardedWork,
  type DiscardKeptOptions,
  discardKept,
} from "../delegations/changes/discard-kept.ts";
import type { KeptWorkParts } from "../delegations/changes/kept-work.ts";
import {
  type MergedWork,
  type MergeOptions,
  type MergeParts,
  mergeKept,
} from "../delegations/changes/merge-kept.ts";
import { MandateError } from "../ports/mandate-error.ts";

/**
 * What agents changed in copies of their own, and what a person decides about it. Whatever comes
 * of a decision, also a refusal, is in the control log before the answer is given.
 */
export class KeptWork {
  readonly #parts: KeptWorkParts;

  constructor(parts: KeptWorkParts) {
    this.#parts = parts;
  }

  diff(id: string, options: DiffOptions = {}): Promise<DelegationDiff> {
    return diffOfDelegation(this.#parts, id, options);
  }

  merge(
    id: string,
    by: Principal,
    { checksFor, guarded }: Omit<MergeParts, keyof KeptWorkParts>,
    options: MergeOptions = {},
  ): Promise<MergedWork> {
    const words = [
      ...(options.anyPath === true ? ["--any-path"] : []),
      ...(options.skipChecks === true ? ["--skip-checks"] : []),
      ...(options.withConfiguration === true ? ["--with-configuration"] : []),
    ];
    return this.#decide("merge", id, words, by, () => {
      requireRole("merge-work", by);
      return mergeKept({ ...this.#parts, checksFor, guarded }, id, options);
    });
  }

  discard(id: string, by: Principal, options: DiscardKeptOptions = {}): Promise<DiscardedWork> {
    const words = options.deleteChanges === true ? ["--yes"] : [];
    return this.#decide("discard", id, words, by, () => {
      requireRole("discard-work", by);
      return discardKept(this.#parts, id, options);
    });
  }

  async #decide<Result extends { readonly delegationId: string; readonly status: string }>(
    word: string,
    id: string,
    words: readonly string[],
    by: Principal,
    act: () => Promise<Result>,
  ): Promise<Result> {
    const { store } = this.#parts;
    try {
      const result = await act();
      const command = [word, result.delegationId, ...words].join(" ");
      await store.noteCommand(command, by.id, result.status);
      return result;
    } catch (error) {
      const code = error instanceof MandateError ? error.code : "failed";
      const outcome = code === "refused-by-policy" ? "refused" : code;
      await store.noteCommand([word, JSON.stringify(id), ...words].join(" "), by.id, outcome);
      throw error;
    }
  }
}
