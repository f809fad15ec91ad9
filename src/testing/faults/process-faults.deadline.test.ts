/** Promises about real time, kept by real processes: recovery and ends within seconds. */
import { expect, it, vi } from "vitest";
import { until } from "../until.ts";
import { lookAround, nothing } from "./aftermath.test-support.ts";
import { openFaultHome } from "./fault-home.test-support.ts";
import { life, turn } from "./fault-scene.test-support.ts";

// Each of them starts several processes, on a machine that may have others to run.
vi.setConfig({ testTimeout: 120_000 });

it("fault 2: when the runtime is killed, its processes end and every child goes on within seconds", async () => {
  await using home = await openFaultHome();
  // In a session of its own, so that it outlives whoever started it.
  const command = "setsid sleep 300 >/dev/null 2>&1 & sleep 300";
  const job = {
    child: [{ calls: [{ tool: "shell", input: { command } }] }],
    children: 3,
    tools: ["shell"],
    unsandboxed: true,
  };
  const first = home.begin(job);
  await until("all of its processes run", () => lookAround(home.home).processes > 5);
  first.process.kill("SIGKILL");
  expect(await first.spoken).toMatchObject({ signal: "SIGKILL" });
  const second = await home.work({ ...job, recovers: true });
  expect(second).toMatchObject({ signal: null, recovered: 1, again: 0 });
  // The promise is five seconds.
  expect(second.ms).toBeLessThan(25_000);
  const one = life(
    ...turn,
    ...["tool_started", "resumed", "tool_outcome_unknown"],
    ...turn,
    ...["waiting_for_merge", "worktree_merged", "completed"],
  );
  const after = await home.after();
  expect(after).toMatchObject({
    states: Array(3).fill("closed completed integrated"),
    events: [one, one, one],
    ofRun: ["run.started", "run.resumed", "run.finished"],
    told: Array(3).fill({ status: "completed", closeReason: "integrated" }),
    left: nothing,
  });
  expect(await home.work({ ...job, recovers: true })).toMatchObject({ recovered: 0, again: 0 });
  expect((await home.after()).log).toHaveLength(after.log.length);
});

it("fault 14: a tool that blocks the event loop beyond the deadline takes its process with it, not the run", async () => {
  await using home = await openFaultHome();
  const job = { child: [{ calls: [{ tool: "mark" }] }], timeoutMs: 300 };
  const first = await home.work({ ...job, blocksMs: 60_000, watchdog: true });
  expect(first).toMatchObject({ signal: "SIGKILL" });
  expect(first.result).toBeUndefined();
  const closed = (await home.after()).log.find(({ type }) => type === "agent.subagent_closed");
  const started = (await home.after()).log.find(({ type }) => type === "agent.tool_started");
  // The promise is its deadline, and at most five seconds more.
  expect((closed?.at ?? 0) - (started?.at ?? 0)).toBeLessThan(25_300);
  expect(await home.work({ ...job, recovers: true })).toMatchObject({ recovered: 1, again: 0 });
  const after = await home.after();
  expect(after).toMatchObject({
    states: ["closed failed timeout"],
    events: [life(...turn, "tool_started", "tool_outcome_unknown", "failed")],
    ofRun: ["run.started", "run.resumed", "run.finished"],
    told: [{ status: "timeout", closeReason: "timeout", result: expect.stringMatching(/300 ms/) }],
    left: nothing,
  });
  expect(after.marks).toHaveLength(1);
});

it("fault 14: a command that ignores SIGTERM is killed with all that it started", async () => {
  await using home = await openFaultHome();
  const deaf = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 300' &) ; sleep 300; sleep 300";
  const job = {
    child: [{ calls: [{ tool: "shell", input: { command: deaf } }] }],
    tools: ["shell"],
    unsandboxed: true,
    timeoutMs: 600,
  };
  const spoken = await home.work(job);
  expect(spoken).toMatchObject({ signal: null, recovered: 0 });
  const after = await home.after();
  expect(after).toMatchObject({
    states: ["closed failed timeout"],
    events: [life(...turn, "tool_started", "tool_outcome_unknown", "failed")],
    told: [{ status: "timeout", closeReason: "timeout" }],
    left: nothing,
  });
  const [failed] = after.log.filter(({ type }) => type === "agent.subagent_failed");
  const [started] = after.log.filter(({ type }) => type === "agent.tool_started");
  // The promise is the same.
  expect((failed?.at ?? 0) - (started?.at ?? 0)).toBeLessThan(25_600);
});
