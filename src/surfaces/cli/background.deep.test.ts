import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../open-store.ts";
import { until } from "../../testing/until.ts";
import { Desk } from "./desk.test-support.ts";

const program = join(import.meta.dirname, "../../mandate.ts");
const patience = { timeout: 120_000 };

/** The root answers while its child waits for a person, who lets it end. */
const playbook = `
version: 1
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: spawn_subagent, input: { agentId: general, prompt: "look", returnMode: background } }]
  - when: { depth: 1, turn: 1 }
    calls: [{ tool: ask_user, input: { message: "May I end?" } }]
  - when: { depth: 1 }
    text: "Found it."
  - text: "I started it."
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
});

afterEach(async () => {
  const [run] = await runs();
  if (run !== undefined) {
    await desk.type(["cancel", run.id]);
    // A process without a terminal is not ours to wait for, but by what it holds.
    const store = await openStore({ environment: environment() });
    await until("nobody works on it", async () => !(await store.isWorkerAlive(run.worker)));
    await store.close();
  }
  desk.clear();
});

function environment() {
  const { PATH = "" } = process.env;
  return { PATH, MANDATE_HOME: desk.home, XDG_CONFIG_HOME: desk.home };
}

function start(...more: readonly string[]) {
  const words = ["run", "--trust-folder", "--playbook", "book.yaml", ...more, "survey"];
  const child = spawn(process.execPath, [program, ...words], {
    ...{ cwd: desk.folder, env: environment() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  return { child, closed: once(child, "close"), soFar: () => ({ out, err }) };
}

async function runs(): Promise<readonly { id: string; state: string; worker: string }[]> {
  return JSON.parse((await desk.type(["ls", "--json"])).out);
}

async function isAt(state: string): Promise<{ id: string; worker: string }> {
  return until(`the run is ${state}`, async () => {
    const [run] = await runs();
    return run?.state === state && run;
  });
}

async function events() {
  const { out } = await desk.type(["logs", "--json"]);
  const lines = out.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}

async function release(): Promise<void> {
  const asked = (await events()).findLast(({ type }) => type === "agent.asked");
  expect((await desk.type(["answer", asked.payload.ask_id, "yes"])).code).toBe(0);
}

test("--background detach leaves the rest to a process of its own, which works to the end", {
  ...patience,
}, async () => {
  const { closed, soFar } = start("--background", "detach");
  expect(await closed).toEqual([0, null]);
  const { err, out } = soFar();
  expect(out).toBe("I started it.\n");
  const [, id] = /(r\w+) continues without this terminal/.exec(err) ?? [];
  expect(err).toContain(` show ${id}\n`);
  const { worker: starter } = (await events()).at(0).payload;
  const running = await until("another process owns it", async () => {
    const [run] = await runs();
    return run?.state === "running" && run.worker !== starter && run;
  });
  expect(running.id).toBe(id);
  expect((await desk.type(["ls"])).out).toContain("answered, 1 sub-agent at work");
  await release();
  await isAt("succeeded");
  expect((await desk.type(["result"])).out).toBe("I started it.\n");
  expect((await desk.type(["verify"])).code).toBe(0);
});

test("a run that is killed while it waits is resumed, waits again and ends", {
  ...patience,
}, async () => {
  const { child, closed, soFar } = start();
  await until("it waits", () => soFar().err.includes("Waiting for 1 sub-agent"));
  expect(soFar().out).toBe("I started it.\n");
  child.kill("SIGKILL");
  await closed;
  const { id } = await isAt("interrupted");
  const resuming = desk.start(["resume", id]);
  await until("it waits again", () => resuming.soFar().err.includes("Waiting for 1 sub-agent"));
  await release();
  expect(await resuming.done).toMatchObject({ code: 0, out: "I started it.\n" });
  expect((await desk.type(["verify"])).code).toBe(0);
});
