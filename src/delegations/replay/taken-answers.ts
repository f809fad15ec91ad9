import type { Contract } from "../../contracts/contract.ts";
import { childrenByParent } from "../../events/run-state.ts";
import type { ModelReply } from "../../ports/model.ts";
import type { Store } from "../../ports/store.ts";
import type { Middleware, TurnContext } from "../middleware.ts";
import type { FindTool, Predecessor, RecordedAnswers } from "./recorded-answers.ts";

interface Fork {
  /** Finished children of the old run whose answers no child of the fork uses yet. */
  readonly left: Predecessor[];
  /** By child of the fork: the recorded answers it uses. Null: it has diverged, or has none. */
  readonly followed: Map<string, RecordedAnswers | null>;
}

/** Bounds the memory of a process that runs for weeks. */
const mostRuns = 256;

/**
 * Reuses recorded answers in forked runs. A child with the same contract as a finished child of the old
 * run gets the recorded answers instead of asking a model, as long as it is shown the same messages.
 * Its calls are made again, through the gate, in the folder as it is now. The answers of one finished
 * child are used once, so work that is requested twice is done twice.
 */
export class TakenAnswers implements Middleware {
  /** For forks started by this process: the event up to which finished children count. */
  readonly #reach = new Map<string, number>();
  readonly #runs = new Map<string, Promise<Fork | null>>();
  #store: Store | null = null;
  #find: FindTool = () => undefined;

  /** Called before the first fork; until then no run is read. `find`: the available tools. */
  begin(store: Store, find: FindTool): void {
    this.#store = store;
    this.#find = find;
  }

  expect(resumedFrom: string, resumedAt: number, reach: number): void {
    this.#reach.set(`${resumedFrom} ${resumedAt}`, reach);
  }

  async turn(context: TurnContext, next: () => Promise<ModelReply>): Promise<ModelReply> {
    if (this.#store === null || context.parentId === null) return next();
    const fork = await this.#forkOf(context.runId, this.#store);
    if (fork === null) return next();
    const { contentKey, namesBelow } = await import("./recorded-answers.ts");
    const answers = follow(fork, context, contentKey);
    if (answers === null) return next();
    const { request, runId, delegationId: id } = context;
    const run = await this.#store.readRun(runId);
    const children = run === undefined ? [] : [...childrenByParent(run)];
    const ids = children.map(([parent, all]) => [parent, all.map((child) => child.id)] as const);
    const reply = answers.next(request, namesBelow(id, new Map(ids)));
    if (reply === undefined) fork.followed.set(id, null);
    return reply ?? next();
  }

  #forkOf(runId: string, store: Store): Promise<Fork | null> {
    const known = this.#runs.get(runId) ?? this.#read(runId, store);
    this.#runs.set(runId, known);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > mostRuns && oldest !== undefined) this.#runs.delete(oldest);
    return known;
  }

  /** Null: the run's log says that it is no fork. */
  async #read(runId: string, store: Store): Promise<Fork | null> {
    const run = await store.readRun(runId);
    const [root] = run?.delegations.values() ?? [];
    const { resumedAt, resumedFrom } = root ?? {};
    if (typeof resumedFrom !== "string" || typeof resumedAt !== "number") return null;
    const from = await store.findRun(resumedFrom);
    if (from === undefined) return null;
    const reach = this.#reach.get(`${resumedFrom} ${resumedAt}`) ?? resumedAt;
    const { predecessorsIn } = await import("./recorded-answers.ts");
    return { left: await predecessorsIn(from, store, reach, this.#find), followed: new Map() };
  }
}

function follow(
  { followed, left }: Fork,
  context: TurnContext,
  contentKey: (contract: Contract) => string,
): RecordedAnswers | null {
  const { contract, delegationId, request } = context;
  const known = followed.get(delegationId);
  if (known !== undefined) return known;
  // Only the first turn can begin to reuse answers.
  const key = request.caller.turn === 1 ? contentKey(contract) : undefined;
  const place = left.findIndex((one) => one.key === key);
  const [found] = place < 0 ? [] : left.splice(place, 1);
  const answers = found?.answers() ?? null;
  followed.set(delegationId, answers);
  return answers;
}
