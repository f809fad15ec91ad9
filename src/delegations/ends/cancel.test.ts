import { describe, expect, it } from "vitest";
import { isOpen } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import {
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";
import { busy, busyTeam } from "../busy-tool.test-support.ts";

/** A tree of four: the lead, two workers of its own, and a middle with one more. All work on and on. */
const tree: Script = ({ caller }) => {
  if (caller.task === "elsewhere") return "done";
  const delegate = (profile: string) => ({
    tool: "delegate_task",
    input: { profile, task: profile },
  });
  if (caller.profile === "worker") return { calls: [{ tool: "busy", input: { n: caller.turn } }] };
  if (caller.turn > 1) return "went on";
  if (caller.profile === "middle") return { calls: [delegate("worker")] };
  return { calls: [delegate("worker"), delegate("middle"), delegate("worker")] };
};

async function startTree(mandate: TestEngine) {
  const started = await mandate.start({ task: "go", profile: "lead" });
  const state = async () => [
    ...((await mandate.store.readRun(started.runId))?.delegations.values() ?? []),
  ];
  await until(
    "all workers have had some turns",
    async () => (await state()).filter(({ turns }) => turns > 1).length >= 3,
  );
  return { ...started, state };
}

/** I17: nothing begins in a cancelled subtree after its cancel is in the log. */
function begunAfter(events: readonly StoredEvent[], seq: number): readonly string[] {
  const begins = new Set(["agent.tool_started", "agent.budget_reserved", "agent.subagent_created"]);
  return events
    .filter((event) => event.seq > seq && begins.has(event.type))
    .map(({ type }) => type);
}

describe("cancelling a run", () => {
  it("is acknowledged when every delegation of it is closed, and nothing begins after that", async () => {
    await using mandate = await openEngine({ ...busyTeam, model: tree });
    const { runId, result, state } = await startTree(mandate);
    expect(await mandate.engine.cancel(runId, "enough")).toBe("cancelled");
    const acknowledged = await mandate.events(runId);
    expect((await state()).filter(isOpen)).toEqual([]);
    expect(await result).toMatchObject({
      status: "cancelled",
      closeReason: "cancelled",
      result: "enough",
    });
    // Another run comes to its end meanwhile.
    await mandate.run({ task: "elsewhere", profile: "worker" });
    const events = await mandate.events(runId);
    expect(events).toEqual(acknowledged);
    const closed = ofType(events, "agent.subagent_closed");
    expect(closed).toHaveLength(5);
    expect(new Set(closed.map(({ payload }) => payload.close_reason))).toEqual(
      new Set(["cancelled"]),
    );
    expect(begunAfter(events, closed[0]?.seq ?? 0)).toEqual([]);
    expect(ofType(events, "run.finished")[0]?.payload).toMatchObject({ outcome: "cancelled" });
    expect(mandate.parts.scheduler.running).toBe(0);
  });

  it("twice is once", async () => {
    await using mandate = await openEngine({ ...busyTeam, model: tree });
    const { runId, delegationId } = await startTree(mandate);
    const outcomes = await Promise.all([
      mandate.engine.cancel(runId, "first"),
      mandate.engine.cancel(delegationId, "second"),
      mandate.engine.cancel(runId, "third"),
    ]);
    expect(outcomes).toEqual(["cancelled", "already_terminal", "already_terminal"]);
    expect(await mandate.engine.cancel(runId, "later")).toBe("already_terminal");
    const events = await mandate.events(runId);
    expect(ofType(events, "agent.subagent_failed", delegationId)).toMatchObject([
      { payload: { code: "cancelled", error: "first" } },
    ]);
  });

  it("that does not exist is said so", async () => {
    await using mandate = await openEngine({ ...busyTeam, model: tree });
    for (const id of ["ffffff", "rffffff", "", "../x", "r", "nonsense"]) {
      expect(await mandate.engine.cancel(id, "why not")).toBe("not_found");
    }
  });
});

describe("cancelling a child", () => {
  it("covers what is below it and nothing else; its caller is told and goes on", async () => {
    const { seen, model } = recording(tree);
    await using mandate = await openEngine({ ...busyTeam, model });
    const { runId, result, state } = await startTree(mandate);
    const all = await state();
    const middle = all.find(({ profile }) => profile === "middle");
    const below = all.find(({ parentId }) => parentId === middle?.id);
    expect(await mandate.engine.cancel(middle?.id ?? "", "this branch")).toBe("cancelled");
    const cut = await mandate.events(runId);
    const after = new Map((await state()).map((each) => [each.id, each]));
    expect(after.get(middle?.id ?? "")).toMatchObject({
      status: "closed",
      closeReason: "cancelled",
    });
    expect(after.get(below?.id ?? "")).toMatchObject({
      status: "closed",
      closeReason: "cancelled",
    });
    expect([...after.values()].filter(isOpen)).toHaveLength(3);
    for (const { id } of all.filter(({ profile, depth }) => profile === "worker" && depth === 1)) {
      await mandate.engine.cancel(id, "the others too");
    }
    expect(await result).toMatchObject({ status: "completed", result: "went on" });
    const last = seen.filter(({ caller }) => caller.depth === 0).at(-1);
    const statuses = last?.messages.flatMap((each) =>
      each.role === "tool" ? JSON.parse(each.text).status : [],
    );
    expect(statuses).toEqual(["cancelled", "cancelled", "cancelled"]);
    const subtree = new Set([middle?.id, below?.id]);
    const events = (await mandate.events(runId)).slice(cut.length);
    expect(events.filter((event) => subtree.has(event.sub_agent_id))).toEqual([]);
  });

  it("that still waits for a slot works: it never starts, and the queue goes on", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.order);
    const isCancelled = Promise.withResolvers<void>();
    const { seen, model } = recording(async ({ caller }) => {
      if (caller.depth > 0) {
        await isCancelled.promise;
        return caller.task;
      }
      const calls = ["a", "b", "c"].map((task) => ({
        tool: "spawn",
        input: { task, profile: "worker" },
      }));
      if (caller.turn === 1) return { calls };
      return caller.turn === 2
        ? { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] }
        : "done";
    });
    await using mandate = await openEngine({ ...busyTeam, model, maxConcurrent: 1 });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    const state = async () => [
      ...((await mandate.store.readRun(runId))?.delegations.values() ?? []),
    ];
    await until("all children", async () => (await state()).length === 4);
    const queued = (await state())[2];
    expect(queued?.status).toBe("created");
    expect(await mandate.engine.cancel(queued?.id ?? "", "not needed")).toBe("cancelled");
    isCancelled.resolve();
    expect((await result).subDelegations).toMatchObject([
      { status: "completed", result: "a" },
      { status: "cancelled", result: "not needed" },
      { status: "completed", result: "c" },
    ]);
    const events = await mandate.events(runId);
    expect(ofType(events, "agent.subagent_started", queued?.id)).toEqual([]);
    expect(seen.some(({ caller }) => caller.task === "b")).toBe(false);
    expect(mandate.parts.scheduler.running).toBe(0);
  });
});

describe("fault 15: a cancel that races the end", () => {
  it("has one winner, whichever comes first, and the loser knows", async ({ skip }) => {
    skip(isDistributed, notOffered.cancel);
    const outcomes = new Set<string>();
    for (let apart = 0; apart < 24; apart++) {
      let cancelling: Promise<string> | undefined;
      let cancel: () => Promise<string> = async () => "nobody";
      await using mandate = await openEngine({
        ...busyTeam,
        async model() {
          queueMicrotask(async () => {
            for (let tick = 0; tick < apart * 2; tick++) await null;
            cancelling = cancel();
          });
          return "finished";
        },
      });
      const started = mandate.start({ task: "go", profile: "worker" });
      cancel = () =>
        mandate.engine.cancel(mandate.engine.liveRuns[0]?.delegations.root?.id ?? "ffffff", "now?");
      const { runId, result } = await started;
      const { status } = await result;
      const outcome = (await cancelling) ?? "none";
      outcomes.add(outcome);
      if (outcome === "cancelled") expect(status).toBe("cancelled");
      else
        expect([outcome, status]).toEqual([expect.stringMatching(/terminal|found/), "completed"]);
      expect(ofType(await mandate.events(runId), "agent.subagent_closed")).toHaveLength(1);
    }
    expect(outcomes).toContain("cancelled");
  });
});

describe("a tool that cannot be undone", () => {
  it("does not run when its delegation was cancelled before its start was on disk", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.cancel);
    let ran = 0;
    let cancelling: Promise<string> | undefined;
    const launch = defineTool({ ...busy, name: "launch", execute: () => `${++ran}` });
    await using mandate = await openEngine({
      profiles: [testProfile("launcher", { tools: ["launch"] })],
      tools: [launch],
      model: () => ({ calls: [{ tool: "launch", input: { n: 1 } }] }),
      middleware: [
        {
          call(_context, next) {
            const made = next();
            // Its start is recorded, and not yet written.
            const [run] = mandate.engine.liveRuns;
            cancelling = mandate.engine.cancel(run?.delegations.root?.id ?? "", "stop it");
            return made;
          },
        },
      ],
    });
    const { result } = await mandate.run({ task: "go", profile: "launcher" });
    expect(await cancelling).toBe("cancelled");
    expect(result.status).toBe("cancelled");
    expect(ran).toBe(0);
  });
});
