import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { LoggedTime } from "../../src/delegations/recovery/logged-time.ts";
import { replayRun } from "../../src/delegations/replay/replay-run.ts";
import { checkStore } from "../../src/events/checker/check-store.ts";
import type { Store } from "../../src/ports/store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import {
  openProcessFleet,
  type ProcessFleet,
} from "../../src/testing/process-fleet.test-support.ts";
import { startTcpProxy, type TcpProxy } from "../../src/testing/tcp-proxy.test-support.ts";
import { randomFrom } from "./random.ts";

export interface RoundOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly workers: number;
  readonly load: FleetLoad;
}

/**
 * `steps`: children with several turns. `budget`: the same under a cap in dollars that they nearly use
 * up. `questions`: children that ask a person, who answers later.
 */
export type FleetLoad = "steps" | "budget" | "questions";

export interface RoundReport {
  readonly runs: number;
  readonly delegations: number;
  readonly faults: readonly string[];
  /** Milliseconds from a fault to the claim of what its victim had. */
  readonly takeovers: readonly number[];
  readonly problems: readonly string[];
}

interface Member {
  readonly process: ChildProcess;
  readonly proxy: TcpProxy;
}

const everyMs = 5000;
/** Longer than a lease, so that those who were away are taken for dead. */
const awayMs = 8000;
const runsAtOnce = 6;
const patienceMs = 90_000;
/** A delegation may outlive its contract by so much. */
const outlivedMs = 5000;

/** One fleet under load, with a fault every five seconds. */
export class FleetRound {
  readonly #options: RoundOptions;
  readonly #random: () => number;
  readonly #members: Member[] = [];
  readonly #faults: { readonly kind: string; readonly at: number }[] = [];
  readonly #ends: Promise<unknown>[] = [];
  #runs = 0;

  constructor(options: RoundOptions) {
    this.#options = options;
    this.#random = randomFrom(options.seed);
  }

  async play(): Promise<RoundReport> {
    const fleet = await openProcessFleet({ workers: 0, atOnce: 5 });
    const problems: string[] = [];
    let report: Omit<RoundReport, "problems">;
    try {
      const port = Number(new URL(fleet.url).port);
      for (let count = 0; count < this.#options.workers; count++) await this.#hire(fleet, port);
      const isOver = sleep(this.#options.seconds * 1000);
      const load = this.#keepBusy(fleet, isOver);
      const ended = Promise.withResolvers<void>();
      const answering = this.#answer(fleet, ended.promise);
      await this.#disturb(fleet, port, isOver);
      await load;
      await this.#letAllEnd(problems);
      ended.resolve();
      await answering;
      report = await this.#examine(fleet, problems);
    } finally {
      for (const { process, proxy } of this.#members) {
        process.kill("SIGKILL");
        await proxy[Symbol.asyncDispose]();
      }
      try {
        await fleet[Symbol.asyncDispose]();
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    return { ...report, problems };
  }

  async #hire(fleet: ProcessFleet, port: number): Promise<void> {
    const proxy = await startTcpProxy({ port });
    const process = await fleet.add({ through: (url) => proxy.through(url) });
    this.#members.push({ process, proxy });
  }

  async #keepBusy({ client }: ProcessFleet, isOver: Promise<void>): Promise<void> {
    let over = false;
    void isOver.then(() => {
      over = true;
    });
    const one = async (): Promise<void> => {
      while (!over) {
        this.#runs++;
        const { result } = await client.engine.startRun({ ...this.#request(), profile: "general" });
        this.#ends.push(result);
        await Promise.race([result, isOver]);
      }
    };
    await Promise.all(Array.from({ length: runsAtOnce }, one));
  }

  #request(): { readonly task: string; readonly maxCost?: number } {
    const few = 1 + Math.floor(this.#random() * 4);
    if (this.#options.load === "questions") return { task: `fan ${few * 2} ask` };
    if (this.#options.load === "budget") return { task: `fan ${few * 4} steps 3 150`, maxCost: 8 };
    return { task: `fan ${few} steps ${1 + Math.floor(this.#random() * 5)} 150` };
  }

  /** A person who answers what has been asked for a while, until every run has ended. */
  async #answer({ client }: ProcessFleet, ended: Promise<unknown>): Promise<void> {
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    while (!isOver && this.#options.load === "questions") {
      await Promise.race([sleep(3000), ended]);
      const open = await client.store.readInbox({ limit: 1000, openOnly: true });
      for (const { ask } of open) {
        if (ask) await client.engine.answer(ask.id, "The old one").catch(() => false);
      }
    }
  }

  async #disturb(fleet: ProcessFleet, port: number, isOver: Promise<void>): Promise<void> {
    let over = false;
    void isOver.then(() => {
      over = true;
    });
    const away: Promise<void>[] = [];
    while (!over) {
      await Promise.race([sleep(everyMs), isOver]);
      if (over) break;
      const index = Math.floor(this.#random() * this.#members.length);
      const victim = this.#members[index];
      if (victim === undefined) continue;
      const kind = ["kill", "stop", "cut"][Math.floor(this.#random() * 3)] ?? "kill";
      this.#faults.push({ kind, at: Date.now() });
      if (kind === "kill") {
        victim.process.kill("SIGKILL");
        this.#members.splice(index, 1);
        await victim.proxy[Symbol.asyncDispose]();
        away.push(this.#hire(fleet, port));
      } else {
        away.push(this.#sendAway(victim, kind));
      }
    }
    await Promise.all(away);
  }

  async #sendAway({ process, proxy }: Member, kind: string): Promise<void> {
    if (kind === "stop") process.kill("SIGSTOP");
    else proxy.cut();
    await sleep(awayMs);
    if (kind === "stop") process.kill("SIGCONT");
    else proxy.mend();
  }

  async #letAllEnd(problems: string[]): Promise<void> {
    const late = sleep(patienceMs).then(() => "late" as const);
    const outcome = await Promise.race([Promise.allSettled(this.#ends), late]);
    if (outcome === "late") problems.push("Some runs did not end.");
  }

  async #examine(
    { client }: ProcessFleet,
    problems: string[],
  ): Promise<Omit<RoundReport, "problems">> {
    const { store } = client;
    const takeovers: number[] = [];
    let delegations = 0;
    const time = new LoggedTime({ longest: () => Infinity, isWaiting: () => false });
    for await (const event of store.readEvents({})) {
      const { sub_agent_id: id = "" } = event;
      if (event.type === "agent.subagent_closed") {
        const { deadlines } = await store.readContract(id);
        const over = time.of(id).totalMs - deadlines.total;
        if (over > outlivedMs) problems.push(`${id} outlived its contract by ${over} ms.`);
      }
      time.see(event);
      if (event.type === "agent.subagent_created") delegations++;
      if (event.type !== "agent.claimed" || event.payload.fence < 2) continue;
      const before = this.#faults.filter(({ at }) => at < event.at);
      // The fault that it follows is one of those whose victims' leases had ended by then.
      const cause = before.findLast(({ at }) => event.at - at > 4000) ?? before.at(-1);
      if (cause !== undefined) takeovers.push(event.at - cause.at);
    }
    for (const run of await store.listRuns({ limit: 100_000 })) {
      if (run.outcome === null) problems.push(`Run ${run.id} is still open.`);
      problems.push(...(await replayDifferences(store, run.id)));
    }
    const { violations } = await checkStore(store);
    for (const { invariant, message, runId } of violations) {
      problems.push(`${invariant} ${runId} ${message}`);
    }
    const faults = this.#faults.map(({ kind }) => kind);
    return { runs: this.#runs, delegations, faults, takeovers };
  }
}

/** What faults have left behind is a run like any other: the log has all of it. */
async function replayDifferences(store: Store, runId: string): Promise<readonly string[]> {
  const memory = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  try {
    const { differences } = await replayRun(store, runId, memory);
    return differences.map(({ message, path }) => `The replay of ${runId}, ${path}: ${message}`);
  } catch (error) {
    return [`${runId} cannot be replayed: ${(error as Error).message}`];
  } finally {
    await memory.close();
  }
}
