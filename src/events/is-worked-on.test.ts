import { expect, it } from "vitest";
import type { WorkerRow } from "../ports/workers.ts";
import type { Delegation, Share } from "./delegation.ts";
import { askWorkersOnce, isRunInterrupted, isWorkedOn, type Liveness } from "./is-worked-on.ts";
import { emptyRun, type RunState } from "./run-state.ts";

/** Who lives, and what was asked about it. */
function liveness(alive: readonly string[], executors: readonly string[] = []) {
  const asked: string[] = [];
  const row = (id: string, executor: string | null): WorkerRow => ({
    ...{ id, executor, version: null, isAlive: alive.includes(id) },
    ...{ host: "here", pid: 1, startedAt: 0, aliveUntil: null },
  });
  const store: Liveness = {
    async isWorkerAlive(worker) {
      asked.push(worker);
      return alive.includes(worker);
    },
    async workers() {
      asked.push("all");
      return [...alive.map((id) => row(id, null)), ...executors.map((id) => row(id, `as-${id}`))];
    },
  };
  return { store, asked };
}

function runOf(holders: readonly (string | null)[] | null): RunState {
  const run = emptyRun("r000001");
  run.worker = "starter";
  if (holders !== null) run.spread = { delegations: 100 };
  for (const [index, worker] of (holders ?? []).entries()) {
    const id = `00000${index}`;
    const share: Share = { tokens: 1, worker, fence: 1 };
    run.delegations.set(id, { id, status: "created", share } as unknown as Delegation);
  }
  return run;
}

it.each([
  ["its worker lives", null, ["starter"], [], true],
  ["its worker is gone, whoever else lives", null, ["taker"], ["taker"], false],
  ["spread: a worker lives, and its starter does not", ["taker"], ["taker"], ["taker"], true],
  ["spread: another worker can take over", ["lost"], ["taker"], ["taker"], true],
  ["spread: its starter lives, and every worker is gone", ["lost"], ["starter"], ["lost"], false],
  ["spread: who holds it takes nothing else", ["lost", "holder"], ["holder"], [], true],
  ["spread: it is on its way into a queue", [null], ["starter"], [], true],
  ["spread: it is in a queue that nobody takes from", [null], [], ["lost"], false],
])("%s", async (_title, holders, alive, executors, worked) => {
  const { store } = liveness(alive, executors);
  const run = runOf(holders);
  expect(await isWorkedOn(store, run)).toBe(worked);
  expect(await isRunInterrupted(store, run)).toBe(!worked);
});

it("asks for the list of workers once for all runs, and never for those that are not spread", async () => {
  const { asked, store } = liveness(["taker", "starter"], ["taker"]);
  const workers = askWorkersOnce(store);
  for (const holders of [null, null]) await isWorkedOn(store, runOf(holders), workers);
  expect(asked).toEqual(["starter", "starter"]);
  for (const holders of [["taker"], [null], ["lost"]])
    await isWorkedOn(store, runOf(holders), workers);
  expect(asked).toEqual(["starter", "starter", "all"]);
});

it("asks nothing about a run that has ended", async () => {
  const { asked, store } = liveness([]);
  const ended = { ...runOf(["lost"]), outcome: "failed" as const };
  expect(await isRunInterrupted(store, ended)).toBe(false);
  expect(asked).toEqual([]);
});
