import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { findPlaces } from "../../../control/places.ts";
import { createRuntime } from "../../../runtime.ts";
import { McpDesk } from "../mcp-desk.test-support.ts";
import { beginCall, playbook } from "./ending.test-support.ts";

test.each(["end of input", "SIGINT", "SIGTERM"] as const)(
  "%s in the middle of a call ends the session cleanly and at once",
  async (how) => {
    await using desk = new McpDesk(playbook);
    const server = desk.start();
    await beginCall(server);
    if (how === "end of input") server.child.stdin.end();
    else server.child.kill(how);
    const { code } = await server.exit();
    expect(code).toBe(0);
    const [run] = await desk.withStore((store) => store.listRuns({}));
    const state = await desk.withStore((store) => store.readRun(run?.id ?? ""));
    const children = [...(state?.delegations.values() ?? [])].filter(({ parentId }) => parentId);
    expect(children).toMatchObject([{ status: "closed", closeReason: "parent_closed" }]);
    expect(server.garbage).toEqual([]);
  },
);

test("Whoever continues by its contract is left to the next process, and the exit does not wait", async () => {
  await using desk = new McpDesk(playbook);
  desk.addProfile(
    "stayer",
    "---\ndescription: Stays\nonParentInterrupt: continue\n---\nYou stay.\n",
  );
  const server = desk.start();
  await beginCall(server, "stayer");
  server.child.stdin.end();
  const { code } = await server.exit();
  expect(code).toBe(0);
  const [run] = await desk.withStore((store) => store.listRuns({}));
  const state = await desk.withStore((store) => store.readRun(run?.id ?? ""));
  const [session, child] = state?.delegations.values() ?? [];
  expect(session).toMatchObject({ status: "running", waitingOn: { on: "child" } });
  expect(child).toMatchObject({ status: "running", profile: "stayer" });
  const next = await createRuntime({
    consent: "named",
    environment: desk.environment,
    cwd: desk.workspace,
    application: run?.application ?? "",
    playbook: { file: desk.environment["MANDATE_PLAYBOOK"] ?? "", speed: 10_000 },
  });
  try {
    const [taken] = await next.engine.recover();
    expect(await taken?.result).toMatchObject({
      status: "completed",
      result: "The session ended.",
      subDelegations: [{ profile: "stayer", status: "completed", result: "Done" }],
    });
  } finally {
    await next.close();
  }
});

test("A client that dies without a word leaves nothing running", async () => {
  await using desk = new McpDesk(playbook);
  const server = desk.start();
  await beginCall(server);
  for (const pipe of [server.child.stdin, server.child.stdout, server.child.stderr]) pipe.destroy();
  const { code } = await server.exit();
  expect(code).toBe(0);
});

test("A broken configuration is told to whoever asks, and can be mended meanwhile", async () => {
  await using desk = new McpDesk(playbook);
  const file = findPlaces(desk.environment).userConfig;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "limitz: {}\n");
  const server = desk.start();
  await server.initialize();
  server.send({ id: 1, method: "tools/list" });
  const broken = await server.next(({ id }) => id === 1);
  expect(broken.error?.message).toMatch(/config\.yaml.*limitz.*limits/s);
  const params = { name: "list_sub_agents", arguments: {} };
  server.send({ id: 2, method: "tools/call", params });
  const called = await server.next(({ id }) => id === 2);
  expect(called.result).toMatchObject({ isError: true });
  writeFileSync(file, "tools: { spawn: { enabled: false } }\n");
  server.send({ id: 3, method: "tools/list" });
  const { result } = await server.next(({ id }) => id === 3);
  const { tools = [] } = result as { readonly tools?: readonly { readonly name: string }[] };
  const names = tools.map(({ name }) => name);
  expect(names).toContain("delegate_task");
  expect(names).not.toContain("spawn");
  expect(names).not.toContain("spawn_await");
  server.child.stdin.end();
  expect(await server.exit()).toMatchObject({ code: 0 });
});

test.each([
  ["", /spawn_await/],
  ["tools: { spawn: { enabled: false } }\n", /spawn_subagent .*get_delegation_result with wait_ms/],
])(
  "A client is told when it connects of the tools that the configuration %j leaves",
  async (text, told) => {
    await using desk = new McpDesk(playbook);
    const file = findPlaces(desk.environment).userConfig;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    const client = await desk.connect({ era: "2025-11-25", isProcess: true });
    const instructions = client.getInstructions() ?? "";
    expect(instructions).toMatch(told);
    expect(/\bspawn(?:_await)?\b/.test(instructions)).toBe(text === "");
  },
);
