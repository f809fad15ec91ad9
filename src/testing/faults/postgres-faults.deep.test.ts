/** A Postgres that goes away, and a worker that was only stopped: state, log, the parent's view, remains. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { dropDatabase, execute, freshDatabase } from "../postgres.test-support.ts";
import { startTcpProxy, type TcpProxy } from "../tcp-proxy.test-support.ts";
import { until } from "../until.ts";
import { lookAround, nothing } from "./aftermath.test-support.ts";
import { openFaultHome } from "./fault-home.test-support.ts";
import { life, turn } from "./fault-scene.test-support.ts";

let url: string;
let proxy: TcpProxy;

beforeEach(async () => {
  url = await freshDatabase();
  proxy = await startTcpProxy({ port: Number(new URL(url).port) });
});

afterEach(async () => {
  proxy.mend();
  await proxy[Symbol.asyncDispose]();
  await dropDatabase(url);
});

const steps = 12;
const done = ["waiting_for_merge", "completed"];

/** What the server does to everybody when it is restarted. */
async function endConnections(): Promise<void> {
  const others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity";
  await execute(url, `${others} WHERE datname = current_database() AND pid <> pg_backend_pid()`);
}

it("fault 17: a Postgres that restarts, and commits without an answer, lose nothing and write nothing twice", async () => {
  await using home = await openFaultHome({ MANDATE_DATABASE_URL: proxy.through(url) });
  const child = Array.from({ length: steps }, (_, index) => ({
    calls: [{ tool: "mark", input: { note: String(index) } }],
  }));
  const run = home.begin({ child, isStepwise: true });
  const letStep = (count: number) => appendFileSync(join(home.home, "steps"), "on\n".repeat(count));
  let lost = 0;
  let marks = 1;
  for (const fault of ["drop-reply", "restart", "cut", "away"] as const) {
    // It stands between the beginning and the end of a call.
    await until(`mark ${marks}`, () => home.marks().length === marks);
    if (fault === "restart") await endConnections();
    else if (fault === "away") proxy.cut();
    else {
      proxy.onRequest((bytes) => {
        if (!bytes.includes("COMMIT") || bytes.includes("BEGIN")) return "pass";
        proxy.onRequest(undefined);
        lost += 1;
        return fault;
      });
    }
    letStep(2);
    marks += 2;
    if (fault === "away") {
      await until("it tries in vain", () => proxy.refusals > 2);
      proxy.mend();
    }
  }
  letStep(steps);
  expect(await run.spoken).toMatchObject({ signal: null, result: { status: "completed" } });
  expect(lost).toBe(2);
  const after = await home.after();
  const made = [...turn, "tool_started", "tool_completed"];
  expect(after).toMatchObject({
    states: ["closed completed report_accepted"],
    events: [life(...Array(steps).fill(made).flat(), ...turn, ...done)],
    ofRun: ["run.started", "run.finished"],
    told: [{ status: "completed", result: "marked", evidence: { tool_calls: steps } }],
    left: nothing,
  });
  expect(after.marks).toHaveLength(steps);
}, 120_000);

it("fault 18: a worker that was stopped and comes back is refused, and what it started is gone", async () => {
  await using home = await openFaultHome({ MANDATE_DATABASE_URL: url });
  const command = "setsid sleep 300 >/dev/null 2>&1 & sleep 300";
  const job = {
    child: [{ calls: [{ tool: "shell", input: { command } }] }],
    tools: ["shell"],
    unsandboxed: true,
  };
  const zombie = home.begin(job);
  await until("its processes run", () => lookAround(home.home).processes > 1);
  zombie.process.kill("SIGSTOP");
  const successor = await home.work({ ...job, recovers: "when lost" });
  expect(successor).toMatchObject({ signal: null, recovered: 1, result: { status: "completed" } });
  const before = await home.after();
  zombie.process.kill("SIGCONT");
  const spoken = await zombie.spoken;
  // It tells its caller how the run ended elsewhere, and wrote nothing of its own.
  expect(spoken.result).toMatchObject({ status: "completed", result: successor.result?.result });
  const after = await home.after();
  expect(after.log).toEqual(before.log);
  expect(after).toMatchObject({
    states: ["closed completed integrated"],
    events: [
      life(
        ...turn,
        ...["tool_started", "resumed", "tool_outcome_unknown"],
        ...turn,
        ...["waiting_for_merge", "worktree_merged", "completed"],
      ),
    ],
    ofRun: ["run.started", "run.resumed", "run.finished"],
    told: [{ status: "completed", closeReason: "integrated" }],
    left: nothing,
  });
}, 120_000);
