/** Faults of our own processes, with real ones: state, log, the parent's view, remains. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { git, initRepository } from "../git-workspace.test-support.ts";
import { lookAround, nothing } from "./aftermath.test-support.ts";
import { openFaultHome } from "./fault-home.test-support.ts";
import { life, lostRequest, turn } from "./fault-scene.test-support.ts";

// Each of them starts several processes, on a machine that may have others to run.
vi.setConfig({ testTimeout: 120_000 });

const done = ["waiting_for_merge", "completed"];
const completed = { status: "completed", closeReason: "report_accepted" };

it.each([
  { tool: "look", made: 2, end: "tool_completed", said: "marked" },
  { tool: "mark", made: 1, end: "tool_outcome_unknown", said: "outcome is unknown" },
])(
  "fault 1: a worker that is killed in a call of $tool goes on in the same attempt, and $tool was made $made times",
  async ({ end, made, said, tool }) => {
    await using home = await openFaultHome();
    const child = [{ calls: [{ tool }] }];
    expect(await home.work({ child, diesInTool: true })).toMatchObject({ signal: "SIGKILL" });
    const second = await home.work({ child, recovers: true });
    expect(second).toMatchObject({ signal: null, recovered: 1, again: 0 });
    const after = await home.after();
    expect(after).toMatchObject({
      states: ["closed completed report_accepted"],
      events: [life(...turn, "tool_started", "resumed", end, ...turn, ...done)],
      ofRun: ["run.started", "run.resumed", "run.finished"],
      told: [{ ...completed, result: expect.stringContaining(said) }],
      left: nothing,
    });
    expect(after.marks).toHaveLength(made);
  },
);

it("fault 1: a call that kills every worker is given up after three resumptions", async () => {
  await using home = await openFaultHome();
  const child = [{ calls: [{ tool: "look" }] }];
  for (let lives = 0; lives < 4; lives++) {
    expect(await home.work({ child, diesInTool: true })).toMatchObject({ signal: "SIGKILL" });
  }
  expect(await home.work({ child, recovers: true })).toMatchObject({ signal: null, recovered: 1 });
  const after = await home.after();
  const taken = Array(3).fill("resumed");
  expect(after).toMatchObject({
    states: ["closed failed worker_lost"],
    events: [life(...turn, "tool_started", ...taken, "tool_failed", "failed")],
    told: [{ status: "failed", closeReason: "worker_lost" }],
    left: nothing,
  });
  expect(after.marks).toHaveLength(4);
});

it("fault 3: killed between writing a large output and saying so, there is one output in the end", async () => {
  await using home = await openFaultHome();
  const child = [{ text: "0123456789abcdef".repeat(20_000) }];
  expect(await home.work({ child, diesKeeping: true })).toMatchObject({ signal: "SIGKILL" });
  expect(lookAround(home.home).artifacts).toBe(1);
  expect(await home.work({ child, recovers: true })).toMatchObject({ signal: null, recovered: 1 });
  const after = await home.after();
  expect(after).toMatchObject({
    states: ["closed completed report_accepted"],
    events: [life(...turn, "resumed", ...done)],
    told: [{ ...completed, artifacts: [{ bytes: 320_000 }] }],
    // Equal bodies have one name, so what the killed process had written counts now.
    left: { ...nothing, artifacts: 1 },
  });
});

it("fault 4: killed in the middle of a merge, the folder is the new one, by one merge", async () => {
  await using home = await openFaultHome();
  initRepository(home.workspace, { "a.txt": "old\n", "b.txt": "old\n" });
  const write = (path: string) => ({ tool: "write_file", input: { path, content: "new\n" } });
  const job = {
    child: [{ calls: [{ tool: "mark" }, write("a.txt"), write("b.txt")] }],
    tools: ["write_file"],
  };
  expect(await home.work({ ...job, diesInMerge: true })).toMatchObject({ signal: "SIGKILL" });
  expect(lookAround(home.home)).toMatchObject({ copies: 1, merges: 1 });
  expect(await home.work({ ...job, recovers: true })).toMatchObject({ signal: null, recovered: 1 });
  const made = ["tool_started", "tool_completed"];
  expect(await home.after()).toMatchObject({
    states: ["closed completed integrated"],
    events: [
      life(
        ...turn,
        ...[...made, ...made, ...made],
        ...turn,
        ...["waiting_for_merge", "worktree_merged", "completed"],
      ),
    ],
    told: [{ status: "completed", closeReason: "integrated", evidence: { tool_calls: 3 } }],
    // What it changed, for people.
    left: { ...nothing, artifacts: 1 },
  });
  for (const path of ["a.txt", "b.txt"]) {
    expect(readFileSync(join(home.workspace, path), "utf8")).toBe("new\n");
  }
  // Reports are nobody's work, and git is told so.
  const status = git(home.workspace, "status", "--porcelain").split("\n");
  expect(status).toEqual([" M a.txt", " M b.txt"]);
});

it.each(["before", "after"] as const)(
  "fault 5: killed %s the commit of an end, that end is written whole and once",
  async (side) => {
    await using home = await openFaultHome();
    const child = [{ calls: [{ tool: "mark" }] }];
    const diesAt = { event: "agent.subagent_closed", side };
    expect(await home.work({ child, diesAt })).toMatchObject({ signal: "SIGKILL" });
    // There is no moment at which it has failed or completed, and is not closed.
    expect((await home.after()).states).toEqual([
      side === "before" ? "running" : "closed completed report_accepted",
    ]);
    expect(await home.work({ child, recovers: true })).toMatchObject({ recovered: 1, again: 0 });
    // The answer shared the commit of the end: what was not written was not said either.
    const taken = side === "before" ? [...lostRequest, "resumed"] : [];
    const after = await home.after();
    expect(after).toMatchObject({
      states: ["closed completed report_accepted"],
      told: [{ ...completed, result: "marked" }],
      left: nothing,
    });
    expect(after.events).toEqual([
      life(...turn, "tool_started", "tool_completed", ...taken, ...turn, ...done),
    ]);
    expect(after.marks).toHaveLength(1);
  },
);

it("fault 14: a loop that is blocked for a while, with time left, is left alone", async () => {
  await using home = await openFaultHome();
  const child = [{ calls: [{ tool: "mark" }] }];
  expect(await home.work({ child, blocksMs: 2500, watchdog: true })).toMatchObject({
    signal: null,
    result: { status: "completed" },
  });
  expect(await home.after()).toMatchObject({
    states: ["closed completed report_accepted"],
    events: [life(...turn, "tool_started", "tool_completed", ...turn, ...done)],
    told: [{ ...completed, result: "marked" }],
    left: nothing,
  });
});
