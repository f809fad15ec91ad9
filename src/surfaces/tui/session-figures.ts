import type { StoredEvent } from "../../events/event.ts";
import { addSpent, nothingSpent, type Spent, spentIn } from "../../events/spent.ts";
import type { Runtime } from "../../runtime.ts";
import type { ChatRuns } from "./chat-runs.ts";
import type { Figures } from "./chat-state.ts";

/** What the status line says about the session that is open: its model, its cost, its context. */
export class SessionFigures {
  readonly #runtime: Pick<Runtime, "models" | "store">;
  readonly #runs: ChatRuns;
  /** Spent in runs that were over when the session was opened. */
  #earlier: Spent = nothingSpent;
  #runIds = new Set<string>();
  #rootId: string | null = null;
  #context: Figures["context"] = null;
  #model: string;

  constructor(runtime: Pick<Runtime, "models" | "store">, runs: ChatRuns, model: string) {
    this.#runtime = runtime;
    this.#runs = runs;
    this.#model = model;
  }

  get figures(): Figures {
    const spent = addSpent(this.#earlier, this.#runs.spentIn(this.#runIds));
    return { model: this.#model, spent, context: this.#context };
  }

  get runIds(): ReadonlySet<string> {
    return this.#runIds;
  }

  /** The next messages are answered by this model. */
  choose(model: string): void {
    this.#model = model;
    this.#context = null;
  }

  begin(runId: string, rootId: string): void {
    this.#runIds.add(runId);
    this.#rootId = rootId;
  }

  /** Another session is open: `runIds` are its runs, the oldest first. */
  async open(rootId: string | null, runIds: readonly string[]): Promise<void> {
    this.#earlier = nothingSpent;
    this.#context = null;
    this.#rootId = rootId;
    this.#runIds = new Set(runIds);
    const { store } = this.#runtime;
    for (const id of runIds) {
      const run = await store.readRun(id).catch(() => undefined);
      // What a watched run spends is counted while it runs.
      if (run === undefined || this.#runs.isFollowed(id) || run.outcome === null) continue;
      this.#earlier = addSpent(this.#earlier, spentIn(run));
    }
    if (rootId === null) return;
    const types = ["agent.model_turn"] as const;
    for await (const event of store.readEvents({ delegationId: rootId, types })) this.see(event);
  }

  see(event: StoredEvent): void {
    if (event.type !== "agent.model_turn" || event.sub_agent_id !== this.#rootId) return;
    const { request, requested, served, usage } = event.payload;
    this.#model = served ?? requested;
    // An agent program keeps its conversation to itself, and asks models about other things too.
    if (request !== undefined) return;
    const { models } = this.#runtime;
    const window = models.contextWindow?.(requested) ?? models.contextWindow?.(this.#model);
    this.#context = { tokens: usage.prompt + usage.completion, window };
  }
}
