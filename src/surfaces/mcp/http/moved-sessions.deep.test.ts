import type { ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import {
  openProcessFleet,
  type ProcessFleet,
} from "../../../testing/process-fleet.test-support.ts";
import { until } from "../../../testing/until.ts";
import { startServing } from "../../http/two-servers.test-support.ts";
import { call, initialize, post, type RawAnswer } from "./raw-client.test-support.ts";

const patience = { timeout: 240_000 };

interface Server {
  readonly url: string;
  readonly child: ChildProcess;
}

/** `mandate serve` on the fleet's database: it works on nothing itself. */
async function serve({ environment, workspace }: ProcessFleet): Promise<Server> {
  const playbook = join(workspace, "..", "playbook.yaml");
  writeFileSync(playbook, "version: 1\nname: none\nreplies: [{ text: nothing }]\n");
  const { child, url } = startServing({
    ...{ environment, workspace, arguments: ["--playbook", playbook] },
  });
  onTestFinished(() => end(child, "SIGTERM"));
  return { child, url: `${await url}/mcp` };
}

async function end(child: ReturnType<typeof spawn>, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

interface Session {
  use(server: Server): void;
  tool(name: string, input: object): Promise<RawAnswer>;
  /** What it spawned, once a worker asks a model for it. */
  spawn(task: string): Promise<string>;
}

async function openSession(fleet: ProcessFleet, server: Server): Promise<Session> {
  const home = String(fleet.environment["MANDATE_HOME"]);
  const token = readFileSync(join(home, "tokens"), "utf8").trim();
  const headers = await initialize({ url: server.url, token });
  let id = 0;
  let { url } = server;
  const tool = (name: string, input: object) =>
    post({ url, token, headers }, call(++id, "tools/call", { name, arguments: input }));
  return {
    use: (other) => {
      url = other.url;
    },
    tool,
    async spawn(task) {
      const { message } = await tool("spawn", { profile: "general", task });
      const [, job = ""] = /"text":"([0-9a-f]+)"/.exec(JSON.stringify(message)) ?? [];
      await until("a worker works on it", () => fleet.notes().some((line) => line.includes(job)));
      return job;
    },
  };
}

it.each(["SIGKILL", "SIGTERM"] as const)(
  "a session continues at another server when its own gets %s, and so does what it delegated",
  patience,
  async (signal) => {
    await using fleet = await openProcessFleet({ workers: 1, atOnce: 4 });
    const [first, second] = [await serve(fleet), await serve(fleet)];
    const session = await openSession(fleet, first);
    const before = await session.spawn("wait 3000");
    await end(first.child, signal);

    session.use(second);
    const after = await session.spawn("wait 10");
    const listed = await session.tool("list_sub_agents", {});
    expect(JSON.stringify(listed.message.result)).toContain(before);
    const awaited = await session.tool("spawn_await", { job_ids: "*" });
    const jobs = [before, after].map((job_id) => ({ job_id, status: "ok" }));
    expect(awaited.message.result?.["structuredContent"]).toMatchObject({
      jobs: expect.arrayContaining(jobs.map((job) => expect.objectContaining(job))),
      running: 0,
    });
    if (signal === "SIGTERM") return;
    // The run that its server left ends by itself, on the worker.
    const { store } = fleet.client;
    const left = await store.findRun(before);
    await until("it ends", async () => (await store.readRun(left ?? ""))?.outcome != null);
  },
);

it("a session at two servers at once is one session", patience, async () => {
  await using fleet = await openProcessFleet({ workers: 1, atOnce: 4 });
  const [first, second] = [await serve(fleet), await serve(fleet)];
  const session = await openSession(fleet, first);
  const one = await session.spawn("wait 20000");
  session.use(second);
  const other = await session.spawn("wait 20000");
  for (const server of [first, second]) {
    session.use(server);
    const { message } = await session.tool("list_sub_agents", {});
    const listed = message.result?.["structuredContent"] as { subAgents: { id: string }[] };
    expect(JSON.stringify(listed)).toContain(one);
    expect(JSON.stringify(listed)).toContain(other);
  }
  // What one of them made, the other cancels.
  const { message } = await session.tool("cancel_delegation", { delegationId: one });
  expect(message.result?.["structuredContent"]).toMatchObject({ outcome: "cancelled" });
});
