import type { FileEvidence, NewEvent, TokenUsage } from "./event.ts";

/**
 * The runtime's record of a closed delegation. It is computed from the log, so that a child cannot claim
 * work that did not happen.
 */
export interface Seal {
  readonly summary: string;
  readonly output_hash: string | null;
  readonly usage: TokenUsage;
  readonly turns: number;
  readonly tool_calls: number;
  readonly attempts: number;
  /** The model of its contract; absent: another program's agent, or no model was asked. */
  readonly requested?: string;
  /** The models that answered. */
  readonly served: readonly string[];
  /** Completed calls by tool. */
  readonly calls?: Readonly<Record<string, number>>;
  /** The exit codes of its commands, in order; a hundred at most. */
  readonly exits?: readonly number[];
  /** The files that it changed, five hundred at most; merged files are in `agent.worktree_merged`. */
  readonly files?: readonly FileEvidence[];
  /** The agent was tainted, and so may be its output. */
  readonly untrusted?: true;
  /** The number of changed files, when `files` does not list all. */
  readonly files_total?: number;
}

/** The most entries in the lists of a seal. */
const mostFiles = 500;
const mostExits = 100;

/**
 * The evidence of a delegation's work, gathered event by event for its seal.
 */
export class Evidence {
  toolCalls = 0;
  /** Why the last child could not be started, unless a later one completed; null: none failed to start. */
  spawnFailure: string | null = null;
  /** The tool or sender that first brought untrusted input; null: the agent is not tainted. */
  untrusted: string | null = null;
  /** A message may have contained private data of its sender. */
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
        // Messages of servers and watchers may contain untrusted input.
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

  /** `collected`: the changes found in the working copy, which are more complete than those of the calls. */
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
