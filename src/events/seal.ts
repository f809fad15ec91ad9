import type { FileEvidence, NewEvent, TokenUsage } from "./event.ts";

/**
 * What the runtime records of a finished child. It is computed from the log, never taken from the
 * child, so a child cannot claim work that did not happen.
 */
export interface Seal {
  readonly summary: string;
  readonly output_hash: string | null;
  readonly usage: TokenUsage;
  readonly turns: number;
  readonly tool_calls: number;
  readonly attempts: number;
  /** The model that its contract asks for; absent: another program's agent, or none was asked. */
  readonly requested?: string;
  /** Models that answered. */
  readonly served: readonly string[];
  /** Completed calls by tool. */
  readonly calls?: Readonly<Record<string, number>>;
  /** How its commands ended, in order; a hundred at most. */
  readonly exits?: readonly number[];
  /** What it changed, five hundred at most; what was merged is in `agent.worktree_merged`. */
  readonly files?: readonly FileEvidence[];
  /** It had read what strangers may have written, and so may be what it says. */
  readonly untrusted?: true;
  /** How many there were, when those are not all. */
  readonly files_total?: number;
}

/** Beyond these a seal counts and no longer lists. */
const mostFiles = 500;
const mostExits = 100;

/**
 * What the runtime saw a delegation do, gathered event by event. The same fold makes the seal, and
 * holds it against the log afterwards.
 */
export class Evidence {
  toolCalls = 0;
  /** Why the last child could not be started, while no later one completed; null: none failed so. */
  spawnFailure: string | null = null;
  /** The tool or sender by which untrusted input first came in; null: none did. */
  untrusted: string | null = null;
  /** A message brought what its sender could read of private data. */
  holdsPrivate = false;
  #calls: Map<string, number> | null = null;
  #exits: number[] | null = null;
  #files: readonly FileEvidence[] | null = null;
  #served: readonly string[] = noNames;

  see({ type, payload }: NewEvent): void {
    switch (type) {
      case "agent.model_turn": {
        const { served } = payload;
        if (served !== null && !this.#served.includes(served)) {
          this.#served = this.#served.concat(served);
        }
        return;
      }
      case "agent.tool_completed":
        this.toolCalls++;
        this.#calls ??= new Map();
        this.#calls.set(payload.tool, (this.#calls.get(payload.tool) ?? 0) + 1);
        if (payload.delivered && !payload.is_error) this.spawnFailure = null;
        if (payload.files) this.#files = [...(this.#files ?? noFiles), ...payload.files];
        this.#seeExit(payload.exit_code);
        if (payload.untrusted) this.untrusted ??= payload.tool;
        return;
      case "agent.tool_failed":
        if (payload.spawn_failed) this.spawnFailure = payload.error;
        this.#seeExit(payload.exit_code);
        if (payload.untrusted) this.untrusted ??= payload.tool;
        return;
      case "agent.interjected":
        // Servers and watchers speak of what they have read themselves.
        if (payload.from === "mcp" || payload.from.startsWith("watcher:"))
          this.untrusted ??= payload.from;
        if (payload.carries?.includes("untrusted")) this.untrusted ??= "a message from its caller";
        if (payload.carries?.includes("private")) this.holdsPrivate = true;
        return;
      default:
    }
  }

  get changedFiles(): boolean {
    return this.#files !== null;
  }

  /** `collected`: what was found in its copy, which tells more than its calls do. */
  asSealed(collected?: readonly FileEvidence[]): Sealed {
    const files = collected ?? this.#files ?? noFiles;
    return {
      tool_calls: this.toolCalls,
      served: this.#served,
      ...(this.#calls && { calls: Object.fromEntries(this.#calls) }),
      ...(this.#exits && { exits: this.#exits }),
      ...(files.length > 0 && { files: files.slice(0, mostFiles) }),
      ...(this.untrusted !== null && { untrusted: true as const }),
      ...(files.length > mostFiles && { files_total: files.length }),
    };
  }

  #seeExit(code: number | undefined): void {
    if (code === undefined) return;
    this.#exits ??= [];
    if (this.#exits.length < mostExits) this.#exits.push(code);
  }
}

type Sealed = Pick<
  Seal,
  "tool_calls" | "served" | "calls" | "exits" | "files" | "files_total" | "untrusted"
>;

const noNames: readonly string[] = Object.freeze([]);
const noFiles: readonly FileEvidence[] = Object.freeze([]);
