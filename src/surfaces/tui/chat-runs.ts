import { isWatching, labelOf } from "../../application/commands/describe-run.ts";
import { keptWorkIn } from "../../application/kept-copies.ts";
import type { Contract } from "../../contracts/contract.ts";
import { findPlaces } from "../../control/places.ts";
import { type Delegation, isOpen, openAskOf, shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import { type Spent, spentIn, sumOf } from "../../events/spent.ts";
import type { Runtime } from "../../runtime.ts";
import { earlyAnswerIn } from "../../sessions/delegation-result.ts";
import { QuietDisplay } from "../cli/display.ts";
import type { Io } from "../cli/io.ts";
import { RunView, RunWatch } from "../cli/run-view.ts";
import { type TreeRow, treeRows } from "../cli/tree-rows.ts";
import type { AgentLine } from "./chat-state.ts";
import type { Entry } from "./entry.ts";
import { endOfChild } from "./turn.ts";

/** Why a run continues beside the conversation. */
type Beside = "command" | "left" | "answered";

export interface ChatRunsListener {
  event(event: StoredEvent): void;
  /** The inbox item that belongs to the entries of `finished`. */
  told(item: number): void;
  /** A run beside the conversation has ended. */
  finished(entries: readonly Entry[]): void;
  /** Reports that another process owns the run now. */
  lost(runId: string): void;
  /** An action on a run failed. */
  failed(error: unknown): void;
}

/** The runs that a chat follows: the one of the conversation, and those in the background. */
export class ChatRuns {
  readonly #runtime: Runtime;
  readonly #io: Io;
  readonly #watch: RunWatch;
  readonly #listener: ChatRunsListener;
  readonly #beside = new Map<string, Beside>();
  readonly #contracts = new Map<string, NonNullable<AgentLine["onInterrupt"]>>();
  /** Runs to cancel once no child of their root is open. */
  readonly #quiet: (() => void)[] = [];

  constructor(runtime: Runtime, io: Io, listener: ChatRunsListener) {
    this.#runtime = runtime;
    this.#io = io;
    this.#listener = listener;
    this.#watch = new RunWatch(runtime.store, new QuietDisplay(io), (event, view) =>
      this.#hear(event, view),
    );
  }

  stop(): void {
    this.#watch.stop();
  }

  get agents(): readonly AgentLine[] {
    const isHere = (runId: string) => (this.#beside.get(runId) ?? "answered") === "answered";
    return agentLines(this.#watch.views.values(), this.#contracts, isHere);
  }

  isFollowed(runId: string): boolean {
    return this.#watch.views.has(runId);
  }

  /** What the runs of a session have spent, as far as this chat followed them. */
  spentIn(runIds: ReadonlySet<string>): Spent {
    return sumOf(
      [...this.#watch.views.values()].flatMap(({ state }) =>
        runIds.has(state.id) ? [spentIn(state)] : [],
      ),
    );
  }

  /** Makes this run the one of the conversation. */
  async follow(runId: string): Promise<void> {
    this.#beside.delete(runId);
    if (!this.#watch.views.has(runId)) await this.#watch.add(runId);
  }

  /** A run started by a command shows its full answer when it ends; a run left running shows one line. */
  async workBeside(runId: string, why: Beside): Promise<void> {
    this.#beside.set(runId, why);
    if (!this.#watch.views.has(runId)) await this.#watch.add(runId);
  }

  async treeOf(id: string): Promise<readonly TreeRow[]> {
    const { store } = this.#runtime;
    const runId = (await store.findRun(id)) ?? id;
    const view = this.#watch.views.get(runId) ?? (await RunView.read(store, runId));
    await view.readBudgets();
    return treeRows(view, this.#io.now());
  }

  /** The tree of a run that the chat follows. */
  liveTree(runId: string): readonly TreeRow[] | undefined {
    const view = this.#watch.views.get(runId);
    return view && treeRows(view, this.#io.now());
  }

  /** Runs whose root has answered while children still run, as far as this process works on them. */
  get answered(): readonly RunState[] {
    const { worker } = this.#runtime.store.ownership;
    return [...this.#watch.views.values()]
      .map(({ state }) => state)
      .filter(
        (run) => run.outcome === null && run.worker === worker && earlyAnswerIn(run) !== null,
      );
  }

  /** Resolves when no sub-agent runs in the background. */
  answeredEnded(): Promise<void> {
    if (this.answered.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#quiet.push(resolve));
  }

  /** Follows a run that has answered: the conversation shows each background child as it ends. */
  async followAnswered(runId: string): Promise<void> {
    await this.workBeside(runId, "answered");
  }

  #hear(event: StoredEvent, view: RunView): void {
    if (this.#answersEarly(event, view)) this.#beside.set(event.run_id, "answered");
    this.#listener.event(event);
    if (event.type === "agent.subagent_closed") this.#tellOfChild(event, view);
    if (event.type === "agent.subagent_created") void this.#readContract(event.sub_agent_id ?? "");
    if (event.type === "agent.subagent_closed") {
      const failed = (error: unknown) => this.#listener.failed(error);
      const { final_status: status, sub_agent_id: id } = event.payload;
      if (status === "failed") this.#tellKept(view, id).catch(failed);
    }
    const why = this.#beside.get(event.run_id);
    // The conversation has already shown the answer and the end of each child.
    const isTold = why === "command" || why === "answered";
    if (isTold && isEndOfRun(event, view)) {
      this.#listener.told(event.seq);
    }
    if (event.type === "run.finished") this.#finish(view);
    if (this.#quiet.length > 0 && this.answered.length === 0) {
      for (const resolve of this.#quiet.splice(0)) resolve();
    }
    const { worker } = this.#runtime.store.ownership;
    if (event.type === "run.resumed" && event.payload.worker !== worker) {
      this.#watch.views.delete(event.run_id);
      this.#listener.lost(event.run_id);
    }
  }

  /** Whether the root of the conversation's run answers while children still run. */
  #answersEarly(event: StoredEvent, { state }: RunView): boolean {
    if (event.type !== "agent.subagent_waiting_for_merge" || this.#beside.has(state.id))
      return false;
    const isRoot = state.delegations.get(event.sub_agent_id ?? "")?.depth === 0;
    return isRoot && event.payload.running !== undefined;
  }

  #tellOfChild(event: StoredEvent<"agent.subagent_closed">, { state }: RunView): void {
    if (this.#beside.get(state.id) !== "answered") return;
    const child = state.delegations.get(event.payload.sub_agent_id);
    if (child === undefined || child.depth !== 1 || isWatching(child)) return;
    const { createdAt, title } = child;
    const about = { label: labelOf(child), title, createdAt, isWatching: false };
    this.#listener.told(event.seq);
    const why = "failure" in child ? child.failure?.error : undefined;
    this.#listener.finished([endOfChild(about, event, why)]);
  }

  /** Changes that a failed delegation left in its copy wait for a decision of the person. */
  async #tellKept({ state }: RunView, id: string): Promise<void> {
    const delegation = state.delegations.get(id);
    if (delegation === undefined) return;
    const { home } = findPlaces(this.#io.environment);
    const kept = await keptWorkIn({ store: this.#runtime.store, home }, [delegation]);
    if (kept.length === 0) return;
    const text = `${labelOf(delegation)} left changes in its copy: /diff ${id}, then /merge ${id} or /discard ${id}`;
    this.#listener.finished([{ kind: "note", tone: "warn", text }]);
  }

  async #readContract(id: string): Promise<void> {
    const contract = await this.#runtime.store.readContract(id).catch(() => undefined);
    if (contract !== undefined) this.#contracts.set(id, contract.on_parent_interrupt);
  }

  #finish({ state }: RunView): void {
    const why = this.#beside.get(state.id);
    const root = [...state.delegations.values()].find(({ depth }) => depth === 0);
    this.#beside.delete(state.id);
    for (const id of state.delegations.keys()) this.#contracts.delete(id);
    if (why === undefined || root?.status !== "closed") return;
    if (why === "answered" && root.finalStatus === "completed") return;
    const { closeReason, failure, finalStatus, id, output } = root;
    const who = `${shownName(root)}#${id}`;
    const isDone = finalStatus === "completed";
    const line: Entry = {
      kind: "line",
      mark: isDone ? "done" : closeReason === "cancelled" ? "stopped" : "failed",
      who,
      text: isDone ? "has finished" : `${closeReason}: ${failure?.error ?? ""}`,
    };
    const isTold = isDone && why === "command" && output !== null;
    this.#listener.finished(isTold ? [line, { kind: "agent", who, text: output.text }] : [line]);
  }
}

/** Whether the event ends the root of the run, or the run itself. */
function isEndOfRun(event: StoredEvent, { state }: RunView): boolean {
  if (event.type !== "agent.subagent_closed") return event.type === "run.finished";
  return state.delegations.get(event.payload.sub_agent_id)?.depth === 0;
}

type OnInterrupt = Contract["on_parent_interrupt"];

/** The agents at work in some runs, for the status line. */
function agentLines(
  views: Iterable<RunView>,
  contracts: ReadonlyMap<string, OnInterrupt>,
  isHere: (runId: string) => boolean,
): readonly AgentLine[] {
  return [...views].flatMap(({ state }) => {
    if (state.outcome !== null) return [];
    const isAnswered = earlyAnswerIn(state) !== null;
    return [...state.delegations.values()].filter(isOpen).map((delegation) => {
      const onInterrupt = contracts.get(delegation.id);
      return {
        id: delegation.id,
        runId: state.id,
        label: labelOf(delegation),
        state: isAnswered && delegation.depth === 0 ? "answered" : stateOf(delegation),
        isRoot: delegation.depth === 0,
        isBackground: isAnswered && delegation.depth > 0 && !isWatching(delegation),
        isWatching: isWatching(delegation),
        isAsking: openAskOf(delegation) !== null,
        isHere: isHere(state.id),
        ...(onInterrupt !== undefined && { onInterrupt }),
      };
    });
  });
}

function stateOf(delegation: Delegation): string {
  if (openAskOf(delegation) !== null) return "asks you";
  if (delegation.status === "created") return "queued";
  if (delegation.status !== "running") return "handing in";
  if (delegation.waitingOn.on === "paused") return "paused";
  return isWatching(delegation) ? "watching" : "running";
}
