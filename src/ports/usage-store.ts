import type {
  Admission,
  LimitScope,
  RequestBound,
  ScopeUsage,
  UsageLimit,
} from "../contracts/usage-limit.ts";

/** A model request that is about to be made. */
export interface LimitedRequest extends RequestBound {
  readonly delegationId: string;
  /** The number of the request in its delegation. */
  readonly request: number;
  readonly provider: string;
  readonly queue: string;
}

/**
 * Counts model requests under limits, exactly and for all processes that share the store. What was
 * admitted is held until the log says that the request was settled, or that its delegation closed:
 * the store releases it in the transaction of that event, so that no crash loses or frees anything.
 */
export interface UsageStore {
  /**
   * Admits the request under these limits and holds what it may use, or does nothing. Admitting the
   * same request again replaces what is held for it.
   */
  admit(request: LimitedRequest, limits: readonly UsageLimit[]): Promise<Admission>;
  /** What is used now. */
  usageOf(scopes: readonly LimitScope[]): Promise<ReadonlyMap<LimitScope, ScopeUsage>>;
}
