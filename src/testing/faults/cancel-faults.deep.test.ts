/** A cancel that races the end: state, log, the parent's view, remains. */
import { expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../alter-database.test-support.ts";
import { ofType, openEngine, recording, testProfile } from "../engine-fixture.ts";
import { lookAround, namesOf, nothing, stateOf, toldTo } from "./aftermath.test-support.ts";
import { life, lostRequest, turn } from "./fault-scene.test-support.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("worker", { tools: ["delegate_task"] }),
];
const delegate = { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "work" } }] };

it("fault 15: a cancel that races the end has one winner, and the loser is told so", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.cancel);
  const winners = new Set<string>();
  for (const ticks of [0, 1, 2, 4, 8, 12, 16, 24, 32, 48]) {
    let child = "";
    let cancelling: Promise<string> | undefined;
    const script: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? delegate : "noted";
      child = caller.delegationId;
      queueMicrotask(async () => {
        for (let tick = 0; tick < ticks; tick++) await null;
        cancelling = mandate.engine.cancel(child, "not this one");
      });
      return "finished";
    };
    const { model, seen } = recording(script);
    await using mandate = await openEngine({ profiles, model });
    const { events, result, runId } = await mandate.run({ task: "go", profile: "lead" });
    const outcome = (await cancelling) ?? "";
    winners.add(outcome);
    const isCancelled = outcome === "cancelled";
    expect(await stateOf(mandate.store, runId, child)).toBe(
      isCancelled ? "closed failed cancelled" : "closed completed report_accepted",
    );
    const names = namesOf(events, child);
    const ways = isCancelled
      ? [life(...lostRequest, "failed"), life(...turn, "failed")]
      : [life(...turn, "waiting_for_merge", "completed")];
    expect(ways).toContainEqual(names);
    const told = toldTo(seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages);
    expect(told.status).toBe(isCancelled ? "cancelled" : "completed");
    expect(result).toMatchObject({ status: "completed", result: "noted" });
    expect(await mandate.engine.cancel(child, "again")).toBe("already_terminal");
    expect(lookAround(mandate.home)).toEqual(nothing);
  }
  expect([...winners].sort()).toEqual(["already_terminal", "cancelled"]);
});

it("fault 15: a cancel covers all below it, once, however often it is said", async ({ skip }) => {
  skip(isDistributed, notOffered.cancel);
  const reached = Promise.withResolvers<void>();
  const { model, seen } = recording(({ caller }) => {
    if (caller.depth === 0 && caller.turn > 1) return "noted";
    if (caller.depth < 2) return delegate;
    reached.resolve();
    return { fault: "hang" };
  });
  await using mandate = await openEngine({ profiles, model });
  const { result, runId } = await mandate.start({ task: "go", profile: "lead" });
  await reached.promise;
  const [, middle = "", below = ""] = ofType(
    await mandate.events(runId),
    "agent.subagent_created",
  ).map(({ sub_agent_id: id = "" }) => id);
  const [first, second, third] = await Promise.all([
    mandate.engine.cancel(middle, "enough"),
    mandate.engine.cancel(middle, "enough"),
    mandate.engine.cancel(below, "this as well"),
  ]);
  expect([first, second]).toEqual(["cancelled", "already_terminal"]);
  expect(third).toMatch(/^(cancelled|already_terminal)$/);
  expect(await result).toMatchObject({ status: "completed", result: "noted" });
  const events = await mandate.events(runId);
  // Waiting for somebody can be done again: that its call failed is all there is to know.
  expect(namesOf(events, middle)).toEqual(life(...turn, "tool_started", "tool_failed", "failed"));
  expect(namesOf(events, below)).toEqual(life(...lostRequest, "failed"));
  for (const id of [middle, below]) {
    expect(await stateOf(mandate.store, runId, id)).toBe("closed failed cancelled");
  }
  const told = toldTo(seen.filter(({ caller }) => caller.depth === 0).at(-1)?.messages);
  expect(told).toMatchObject({ status: "cancelled", closeReason: "cancelled", result: "enough" });
  expect(lookAround(mandate.home)).toEqual(nothing);
});
