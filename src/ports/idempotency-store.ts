/**
 * Which requests were made under a key, so that one that is sent twice is done once. A key belongs
 * to its principal: no principal meets another's. What is begun is durable before `begin` resolves, and
 * what is finished before `finish` does, so that no crash makes a request happen again unnoticed.
 */
export interface IdempotencyStore {
  /**
   * Takes the key for this request, or says what is known of it. Of several that come at once, in
   * one process or in many, one has begun. Keys from before `forgetBefore` are forgotten first,
   * except those of requests that are still running.
   */
  begin(request: KeyedRequest, forgetBefore: number): Promise<KeyStanding>;
  /** What the request was answered with; from here on every repetition is. */
  finish(key: RequestKey, reply: KeptReply): Promise<void>;
  /** It was refused before anything had happened: the key is free again. */
  abandon(key: RequestKey): Promise<void>;
}

export interface RequestKey {
  readonly principal: string;
  readonly key: string;
}

export interface KeyedRequest extends RequestKey {
  /** Of all that was asked: two requests with the same one are the same. */
  readonly fingerprint: string;
}

export interface KeptReply {
  readonly status: number;
  readonly body: string;
}

export type KeyStanding =
  /** It is this caller's now, who has to finish or to abandon it. */
  | { readonly is: "begun" }
  | { readonly is: "finished"; readonly reply: KeptReply }
  /** Another request was made under it. */
  | { readonly is: "taken" }
  /** The first one is still being worked on. */
  | { readonly is: "running" }
  /** The process that worked on it is gone, and its progress is unknown. */
  | { readonly is: "unknown" };
