import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { scriptedModel } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { until } from "../testing/until.ts";
import { Desk } from "./cli/desk.test-support.ts";
import { openApi } from "./http/routes/api.test-support.ts";
import { createMandate } from "./library/mandate.ts";

const slow = { text: "late", latency_ms: 60_000 };

describe("a run that was cancelled", () => {
  test("is cancelled in the log, in its row, over HTTP, in the inbox and on the command line", async () => {
    await using api = await openApi({ model: () => slow });
    const { client, engine } = api;
    const { delegationId, result, runId } = await engine.start({ task: "x", profile: "general" });
    expect(await engine.engine.cancel(runId, "not needed")).toBe("cancelled");
    expect(await result).toMatchObject({ status: "cancelled", outcome: "cancelled" });
    expect(await engine.engine.resultOf(runId)).toMatchObject({ outcome: "cancelled" });
    const [finished] = ofType(await engine.events(runId), "run.finished");
    expect(finished?.payload.outcome).toBe("cancelled");
    const [closed] = ofType(await engine.events(runId), "agent.subagent_closed");
    expect(closed?.payload).toMatchObject({ final_status: "failed", close_reason: "cancelled" });
    expect(await engine.store.listRuns({})).toMatchObject([{ outcome: "cancelled" }]);
    expect(await client.getRun({ runId })).toMatchObject({ state: "cancelled" });
    expect(await client.listRuns({ outcome: "cancelled" })).toMatchObject({ items: [{ runId }] });
    expect(await client.listRuns({ outcome: "failed" })).toMatchObject({ items: [] });
    expect(await client.getDelegation({ delegationId })).toMatchObject({ outcome: "cancelled" });
    const { items } = await client.listInbox({});
    expect(items.map(({ title }) => title)).toContain("Run was cancelled: x");
    const desk = new Desk();
    const environment = { MANDATE_HOME: engine.home, XDG_CONFIG_HOME: engine.home };
    const look = async (...words: string[]) => (await desk.type(words, { environment })).out;
    expect(await look("ls")).toMatch(/cancelled/);
    expect(JSON.parse(await look("ls", "--json"))).toMatchObject([{ state: "cancelled" }]);
    expect(await look("show", runId)).toMatch(/cancelled/);
    const tree = JSON.parse(await look("tree", "--json", runId));
    expect(tree).toMatchObject({
      state: "cancelled",
      delegations: [{ finalStatus: "failed", outcome: "cancelled", closeReason: "cancelled" }],
    });
    expect(JSON.parse(await look("result", "--json", runId))).toMatchObject({
      status: "cancelled",
      outcome: "cancelled",
    });
    expect(await look("logs", runId)).toMatch(/run cancelled: not needed/);
    desk.clear();
  });
});

describe("a program that delegates", () => {
  const lead = testProfile("lead", { tools: ["spawn_subagent", "list_sub_agents"] });
  const worker = testProfile("worker", { tools: [] });

  test("learns the outcome of the run beside the result of its root", async () => {
    const scripted = scriptedModel(async ({ caller, messages }) => {
      if (caller.depth > 0) return { fault: "unauthorized" };
      if (caller.turn > 1) {
        const [child = ""] = /\b[0-9a-f]{6}\b/.exec(messages.at(-1)?.text ?? "") ?? [];
        await until("the child fails", () => mandate.getResult(child));
      }
      if (caller.turn > 1 || caller.task === "alone") return { text: "All is well." };
      const input = { agentId: "worker", prompt: "x", returnMode: "background" };
      return { calls: [{ tool: "spawn_subagent", input }] };
    });
    const options = { database: ":memory:", environment: {}, scripted, profiles: [lead, worker] };
    const mandate = await createMandate(options);
    try {
      const alone = await mandate.delegate({ profile: "lead", task: "alone" });
      expect(alone).toMatchObject({ status: "completed", outcome: "succeeded" });
      // The child fails, and its failure never reaches the agent that started it.
      const handle = await mandate.start({ profile: "lead", task: "go" });
      expect(await handle.result).toMatchObject({ status: "completed", outcome: "failed" });
      expect(await handle.outcome).toBe("failed");
      expect(await mandate.getResult(handle.runId)).toMatchObject({ outcome: "failed" });
      expect((await mandate.verify()).violations).toEqual([]);
    } finally {
      await mandate.close();
    }
  });

  test("sees in the list which delegations no process works on", async () => {
    await using engine = await openEngine({ model: () => slow });
    await engine.start({ task: "x", profile: "general" });
    engine.abandon();
    await using next = await engine.another({ model: () => slow });
    const environment = { MANDATE_HOME: next.home, HOME: next.workspace };
    const scripted = scriptedModel(() => "done");
    const mandate = await createMandate({ environment, scripted, recover: false });
    const [active] = await mandate.listActive();
    expect(active).toMatchObject({ status: "running", isInterrupted: true });
    expect(active).not.toHaveProperty("waitingOn");
    await mandate.close();
    const [run] = await next.store.listRuns({});
    await next.engine.cancel(run?.id ?? "", "done looking");
  });
});

describe("a child that did not complete", () => {
  const profiles = [
    testProfile("lead", {
      tools: ["delegate_task", "delegate_to_agent", "spawn_subagent", "list_sub_agents"],
    }),
    testProfile("worker", { tools: [] }),
  ];

  test("reaches its caller as an error that names how it ended", async () => {
    const { model, seen } = recording(({ caller }) => {
      if (caller.depth > 0)
        return caller.task === "fine" ? "it is fine" : { fault: "unauthorized" };
      const calls = [
        { tool: "delegate_task", input: { profile: "worker", task: "break" } },
        { tool: "delegate_to_agent", input: { agentId: "@worker", task_instructions: "break" } },
        { tool: "spawn_subagent", input: { agentId: "worker", prompt: "break" } },
        { tool: "delegate_to_agent", input: { agentId: "@worker", task_instructions: "fine" } },
      ];
      if (caller.turn === 1) return { calls };
      return caller.turn === 2 ? { calls: [{ tool: "list_sub_agents", input: {} }] } : "done";
    });
    await using mandate = await openEngine({ profiles, model });
    const by = { id: "local", role: "operator" } as const;
    const entry = { agentId: "@worker", profileId: "worker", description: "Works." };
    await mandate.control.plane.register(entry, by);
    await mandate.run({ task: "go", profile: "lead" });
    const results = (seen.at(-1)?.messages ?? []).filter((message) => message.role === "tool");
    expect(results.map(({ isError }) => isError)).toEqual([true, true, true, false, false]);
    const [task = "", agent, spawned = "", fine, list = ""] = results.map(({ text }) => text);
    expect(JSON.parse(task)).toMatchObject({ status: "failed", closeReason: expect.any(String) });
    expect(agent).toMatch(/^Error: failed \(provider_unavailable\): /);
    expect(JSON.parse(spawned)).toMatchObject({
      status: "failed",
      closeReason: "provider_unavailable",
      error: expect.any(String),
    });
    expect(fine).toBe("it is fine");
    const ends = JSON.parse(list).map(({ finalStatus, outcome }: Record<string, string>) => {
      return [finalStatus, outcome];
    });
    expect(ends.toSorted()).toEqual([
      ["completed", "completed"],
      ["failed", "failed"],
      ["failed", "failed"],
      ["failed", "failed"],
    ]);
  });

  test("has a report file that begins with its status and why it was not accepted", async () => {
    await using mandate = await openEngine({
      profiles: [
        testProfile("boss", { tools: ["delegate_task", "write_file"] }),
        testProfile("scribe", {
          tools: ["write_file"],
          workspace: { checks: ["exit 7"] },
        }),
      ],
      model: ({ caller }) => {
        const input =
          caller.depth > 0 ? { path: "a.txt", content: "a" } : { profile: "scribe", task: "write" };
        if (caller.turn > 1) return "All is well.";
        return { calls: [{ tool: caller.depth > 0 ? "write_file" : "delegate_task", input }] };
      },
    });
    const { workspace } = mandate;
    const { events } = await mandate.run({ task: "go", profile: "boss", workspace });
    const [path] = ofType(events, "agent.subagent_waiting_for_merge").map(
      ({ payload }) => payload.output_path,
    );
    const report = readFileSync(join(workspace, path ?? ""), "utf8");
    expect(report).toMatch(/^# write\n\n- status: failed \(\w+\)\n[\s\S]*\nNot accepted: /);
    expect(report.indexOf("Not accepted")).toBeLessThan(report.indexOf("All is well."));
  });
});

describe("what the machine does not allow", () => {
  const binary = fileURLToPath(new URL("../mandate.ts", import.meta.url));
  const playbook = `version: 1
replies:
  - when: { profile: general, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: coder, task: "Write note.txt" } }]
  - when: { profile: coder, turn: 1 }
    calls: [{ tool: write_file, input: { path: note.txt, content: hello } }]
  - text: Never mind.
`;

  function typing(desk: Desk, path: string, ...words: string[]) {
    const environment = { MANDATE_HOME: desk.home, XDG_CONFIG_HOME: desk.home, PATH: path };
    const typed = [binary, ...words];
    const options = { cwd: desk.folder, env: environment, encoding: "utf8" } as const;
    return spawnSync(process.execPath, typed, options);
  }

  test("a child that needs a working copy and finds no git fails the run, and a replay agrees", {
    timeout: 90_000,
  }, () => {
    const desk = new Desk();
    const nothing = testFolder();
    desk.write("book.yaml", playbook);
    const run = ["run", "--trust-folder", "--playbook", "book.yaml", "--json", "do it"];
    const { status, stdout, stderr } = typing(desk, nothing, ...run);
    expect(stderr).toMatch(/git program was not found/);
    const { outcome, runId, status: own } = JSON.parse(stdout);
    expect({ status, outcome, own }).toEqual({ status: 1, outcome: "failed", own: "completed" });
    const path = process.env["PATH"] ?? "";
    expect(typing(desk, path, "replay", runId).stdout).toMatch(/the same/);
    expect(typing(desk, path, "verify").status).toBe(0);
    // With git the same task succeeds.
    const again = typing(desk, path, ...run);
    expect(JSON.parse(again.stdout)).toMatchObject({ outcome: "succeeded" });
    desk.clear();
  });

  // The superuser may write everywhere.
  test.skipIf(process.getuid?.() === 0)(
    "a read-only folder is refused to a profile that writes, and fine for one that reads",
    async () => {
      const desk = new Desk();
      const folder = join(desk.folder, "closed");
      mkdirSync(folder);
      chmodSync(folder, 0o555);
      const book = desk.write("book.yaml", playbook);
      const run = ["run", "--trust-folder", "--playbook", book];
      const options = { cwd: folder };
      const refused = await desk.type([...run, "do it"], options);
      expect(refused).toMatchObject({ code: 2, out: "" });
      expect(refused.err).toMatch(/is not writable.*--read-only/);
      expect((await desk.type([...run, "--read-only", "do it"], options)).code).toBe(0);
      expect((await desk.type([...run, "-p", "oracle", "look"], options)).code).toBe(0);
      chmodSync(folder, 0o755);
      desk.clear();
    },
  );
});

describe("the session of another program's agent, after its process was killed", () => {
  test("continues with its sub-agents when it is resumed, and every message is true", {
    timeout: 60_000,
  }, async () => {
    const desk = new Desk();
    const file = desk.write(
      "book.yaml",
      "version: 1\nreplies: [{ text: Done., latency_ms: 400 }]\n",
    );
    const script = `
      import { createRuntime } from ${JSON.stringify(new URL("../runtime.ts", import.meta.url).href)};
      const { engine, store } = await createRuntime({
        playbook: { file: ${JSON.stringify(file)} }, application: ${JSON.stringify(`playbook:${file}`)},
        profiles: [{ name: "keeper", description: "Keeps.", capabilities: ["subtask"], prompt: "Keep.",
          origin: "test", tools: [], onParentInterrupt: "pause" }],
      });
      const session = await engine.openSession({ client: "some-client" });
      store.subscribe((events) => {
        if (!events.some(({ type }) => type === "agent.budget_reserved")) return;
        console.log(session.runId);
        process.kill(process.pid, "SIGKILL");
      });
      await session.call("spawn_subagent", { agentId: "keeper", prompt: "work" });`;
    const environment = {
      MANDATE_HOME: desk.home,
      XDG_CONFIG_HOME: desk.home,
      PATH: "/usr/bin:/bin",
    };
    const started = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: desk.folder,
      env: environment,
      encoding: "utf8",
    });
    const runId = started.stdout.trim();
    expect(runId).toMatch(/^r[0-9a-f]{6}$/);
    const first = await desk.type(["resume", runId]);
    expect(first).toMatchObject({ code: 0, out: "Done.\n" });
    expect(first.err).toMatch(
      new RegExp(`Run ${runId} continues where it stopped, with its sub-agents alone: \\w+\\.`),
    );
    expect(first.err).toMatch(/Sub-agent 1 of 1, keeper \w+ in r\w+:/);
    expect(first.err).not.toMatch(/Resume: /);
    const second = await desk.type(["resume", runId]);
    expect(second.code).toBe(1);
    expect(second.err).toMatch(/the session of "some-client".*another program runs.*mandate tree/s);
    desk.clear();
  });
});
