/**
 * A playbook: what the scripted model answers, in a file or as an object. Everything is decided from
 * the request alone (who asks, which turn, what was said so far), so the same conversation gets the
 * same answers before and after a crash.
 *
 *     version: 1
 *     name: two helpers
 *     replies:
 *       - when: { profile: coordinator, turn: 1 }
 *         calls:
 *           - { tool: spawn, input: { task: "count the files" } }
 *           - { tool: spawn, input: { task: "count the lines" } }
 *       - when: { profile: coordinator, tool: spawn }
 *         calls: [{ tool: spawn_await, input: { job_ids: "{{ids:spawn}}" } }]
 *       - when: { profile: coordinator }
 *         text: "Both are done: {{last}}"
 *       - text: "I looked into: {{task}}"
 *
 * The first reply whose conditions all hold is given. The guide is docs/guides/playbooks.md.
 */
export interface Playbook {
  readonly version: 1;
  readonly name?: string | undefined;
  readonly replies: readonly PlaybookReply[];
}

export interface PlaybookReply extends ScriptedReply {
  readonly when?: When | undefined;
  /** How often it is given within one attempt, counted from the conversation; absent: always. */
  readonly times?: number | undefined;
}

/** A number, or a range: "3+" is three and more, "2-4" is two to four. */
export type NumberRange = number | string;

/** All that are set must hold. `task` and `last` are part of the text, or a /pattern/flags. */
export interface When {
  readonly profile?: string | undefined;
  readonly turn?: NumberRange | undefined;
  readonly attempt?: NumberRange | undefined;
  readonly depth?: NumberRange | undefined;
  /** Tries of the same turn, after faults. */
  readonly try?: NumberRange | undefined;
  readonly task?: string | undefined;
  readonly last?: string | undefined;
  /** The tool whose result is the last message. */
  readonly tool?: string | undefined;
}

export interface ScriptedReply {
  readonly text?: string | undefined;
  readonly calls?: readonly ScriptedCall[] | undefined;
  /** How long the answer takes; with `chunks`, spread over them. */
  readonly latency_ms?: number | undefined;
  /** In how many pieces the text is streamed. */
  readonly chunks?: number | undefined;
  /** Absent: estimated from the lengths of the texts. */
  readonly usage?: ScriptedUsage | undefined;
  /** The model that answers, if it is not the requested one. */
  readonly served?: string | undefined;
  readonly finish?: (typeof finishes)[number] | undefined;
  readonly fault?: ScriptedFault | undefined;
  /** The wait that a `rate-limited` or `overloaded` answer asks for. */
  readonly retry_after_ms?: number | undefined;
  /** What had arrived before the fault; with `malformed-call`, the arguments' text. */
  readonly partial?: string | undefined;
}

export interface ScriptedCall {
  readonly tool: string;
  readonly input?: unknown;
  /** Absent: `call_<turn>_<number>`, unique within a delegation. */
  readonly id?: string | undefined;
}

export interface ScriptedUsage {
  readonly prompt: number;
  readonly completion: number;
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
}

export type ScriptedFault = (typeof faults)[number];

export const finishes = ["stop", "tool-calls", "length", "content-filter", "other"] as const;

export const faults = [
  // The request fails, as with a provider that refuses or breaks.
  "rate-limited",
  "spend-cap",
  "overloaded",
  "connection",
  "context-overflow",
  "unauthorized",
  "rejected",
  // An answer comes, and is not a good one.
  "empty",
  "length",
  "malformed-call",
  "unknown-tool",
  "no-usage",
  // No answer comes: until the request is aborted, or (hang) not even then.
  "stall",
  "stall-mid-stream",
  "hang",
] as const;
