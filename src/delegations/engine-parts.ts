import type { NarrowingRules } from "../contracts/narrow.ts";
import type { Clock } from "../ports/clock.ts";
import type { Model, ModelUsage } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import type { Profile } from "../profiles/profile.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { Middleware } from "./middleware.ts";
import type { Scheduler } from "./scheduler.ts";

/** Everything the engine is made of; put together in one place, `runtime.ts`. */
export interface EngineParts {
  readonly store: Store;
  readonly models: ModelSource;
  readonly profiles: ProfileSource;
  readonly toolbox: Toolbox;
  readonly middleware: Middleware;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: EngineLimits;
  /** Who starts runs here; another application's runs are not taken over. */
  readonly application: string;
  /** Folders that no workspace may reach: the home of the database itself. */
  readonly forbidden: readonly string[];
  /** Files and folders that no child may write: configuration and profiles. */
  readonly guarded: readonly string[];
  /** Streams what models say while they say it; never stored. */
  readonly onDelta?: (delegationId: string, text: string) => void;
}

export interface ModelSource {
  resolve(name: string): Model;
  readonly defaultModel: string;
  cost(name: string, usage: ModelUsage): number;
}

export interface ProfileSource {
  get(name: string): Profile | undefined;
  names(): readonly string[];
}

export interface EngineLimits extends NarrowingRules {
  readonly runTokens: number;
  readonly runTimeMs: number;
  /** Delegations in one run, all depths together. */
  readonly maxChildren: number;
  readonly maxOutputTokens: number;
  readonly maxRetries: number;
  readonly joinTokens: number;
  readonly askDeadlineMs: number;
  readonly askDefault: string | null;
  readonly deadlines: {
    readonly firstTokenMs: number;
    readonly stallMs: number;
    readonly toolMs: number;
    readonly idleMs: number;
  };
  /** Requests that meet a passing fault: how often, and how long at first. */
  readonly requestTries: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** Bytes of a tool's output that enter the conversation; the rest becomes an artifact. */
  readonly toolOutputBytes: number;
  readonly reportPathPattern: string | null;
  readonly onUnknownProfile: string | null;
}
