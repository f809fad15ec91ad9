import { expect, it } from "vitest";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";
import { until } from "../../testing/until.ts";
import { findOverdue } from "./logged-time.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("worker", { tools: [], limits: { timeoutMs: 20_000 } }),
];

/** A lead whose child waits for a model that never answers. */
async function openWaiting(mandate: () => TestEngine) {
  const { runId } = await mandate().start({ task: "go", profile: "lead" });
  const child = await until("the child starts", async () =>
    ofType(await mandate().events(runId), "agent.subagent_started").at(1),
  );
  return { runId, child: child.sub_agent_id, at: child.at };
}

const model = ({ caller }: { readonly caller: { readonly depth: number } }) =>
  caller.depth > 0
    ? { fault: "hang" as const }
    : { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "work" } }] };

it("finds whoever is out of its whole time and the grace, among those of one worker", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.ownership);
  await using mandate = await openEngine({ clock: new HeldClock(), profiles, model });
  const { at, child, runId } = await openWaiting(() => mandate);
  const { worker } = mandate.store.ownership;
  const [day, hour] = [86_400_000, 3_600_000];
  const find = (ms: number, since = at, who = worker) =>
    findOverdue(mandate.store, who, { since, ms }, 1000);
  expect(await find(20_500)).toEqual([]);
  expect(await find(21_100)).toEqual([{ runId, delegationId: child, depth: 1, totalMs: 20_000 }]);
  // A clock that was set by an hour before it stood still says nothing.
  expect(await find(5000, at + hour)).toEqual([]);
  expect(await find(19_500, at + hour)).toHaveLength(1);
  // A day later its caller is out of time, too, and comes first.
  expect((await find(day)).map(({ depth }) => depth)).toEqual([0, 1]);
  expect(await find(day, at, "somebody.else")).toEqual([]);
  await mandate.engine.cancel(runId, "enough");
  expect(await find(day)).toEqual([]);
});
