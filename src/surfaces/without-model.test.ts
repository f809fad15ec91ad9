import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandContext } from "../application/commands/command-context.ts";
import { executeCommand, fromUser } from "../application/commands/execute-command.ts";
import { verifyHome } from "../application/verify-home.ts";
import { findPlaces } from "../control/places.ts";
import { scriptedModel } from "../models/scripted/scripted-model.ts";
import { openStore } from "../open-store.ts";
import { startWorker } from "../start-worker.ts";
import { openEngine, testProfile } from "../testing/engine-fixture.ts";
import { Desk } from "./cli/desk.test-support.ts";
import { openApi } from "./http/routes/api.test-support.ts";
import { createMandate } from "./library/mandate.ts";
import { McpDesk } from "./mcp/mcp-desk.test-support.ts";

/** Every way to start work says this when no model is configured. */
const sentence =
  /No language model is configured.*ANTHROPIC_API_KEY.*MANDATE_MODEL=.*mandate doctor/s;
const noModel = expect.objectContaining({
  code: "model-not-configured",
  message: expect.stringMatching(sentence),
});

describe("without a model, on the command line", () => {
  const desk = new Desk();
  let ended: { runId: string; delegationId: string };

  async function runs(): Promise<number> {
    const store = await openStore({ environment: { MANDATE_HOME: desk.home } });
    try {
      return (await store.listRuns({ limit: 100 })).length;
    } finally {
      await store.close();
    }
  }

  beforeAll(async () => {
    // Something to review.
    const git = (...words: string[]) => execFileSync("git", words, { cwd: desk.folder });
    git("init", "--quiet");
    git(
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@b",
      "commit",
      "--quiet",
      "--allow-empty",
      "-m",
      "a",
    );
    desk.write("new.txt", "not committed");
    // A run that failed while a model was named, for whatever goes on from one.
    const environment = { MANDATE_MODEL: "scripted/echo" };
    const words = ["run", "-p", "coder", "--max-tokens", "10", "--json", "earlier work"];
    const failed = await desk.type(words, { environment });
    expect(failed.code).toBe(1);
    const { delegationId, runId } = JSON.parse(failed.out);
    ended = { runId, delegationId };
    desk.write(
      "plan.yaml",
      "steps:\n  - title: Look\n    description: Look around\n    profile: coder\n",
    );
  });

  afterAll(async () => {
    const environment = { MANDATE_HOME: desk.home };
    const store = await openStore({ environment });
    const { violations } = await verifyHome(store, { places: findPlaces(environment) });
    await store.close();
    desk.clear();
    expect(violations).toEqual([]);
  });

  const ways: readonly (readonly [string, (past: typeof ended) => readonly string[]])[] = [
    ["run", () => ["run", "do it"]],
    ["run with a profile", () => ["run", "-p", "coder", "do it"]],
    ["run --json", () => ["run", "--json", "do it"]],
    ["run --plan", () => ["run", "--plan", "plan.yaml"]],
    ["run --goal", () => ["run", "--goal", "reach it"]],
    ["run --continue", ({ runId }) => ["run", "--continue", runId, "and now?"]],
    ["resume of a run", ({ runId }) => ["resume", runId]],
    ["resume of a delegation", ({ delegationId }) => ["resume", delegationId]],
    ["fork", ({ runId }) => ["fork", runId, "--at", "5"]],
    ["/oracle", () => ["command", "/oracle why?"]],
    ["/review", () => ["command", "/review"]],
    ["/orchestrate", () => ["command", "/orchestrate reach it"]],
    ["/spawnagent", () => ["command", "/spawnagent coder do it"]],
    ["/pair", () => ["command", "/pair look at it"]],
    ["/resume", ({ runId }) => ["command", `/resume ${runId}`]],
  ];

  test.each(ways)("%s exits 2 with the sentence, and writes no run", async (_way, words) => {
    const before = await runs();
    const { code, err, out } = await desk.type(words(ended));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(sentence);
    expect(await runs()).toBe(before);
  });

  test("a playbook, its variable and a scripted model by name still answer", async () => {
    const playbook = desk.write("answers.yaml", "version: 1\nreplies: [{ text: Done. }]\n");
    const named = { MANDATE_MODEL: "scripted/echo" };
    expect((await desk.type(["run", "--playbook", playbook, "x"])).out).toBe("Done.\n");
    const environment = { MANDATE_PLAYBOOK: playbook };
    expect((await desk.type(["run", "x"], { environment })).out).toBe("Done.\n");
    for (const typed of [
      await desk.type(["run", "x"], { environment: named }),
      await desk.type(["run", "--model", "scripted/echo", "x"]),
    ]) {
      expect(typed).toMatchObject({ code: 0, out: expect.stringContaining("[scripted model]") });
    }
  });

  test("a replay needs no model: it runs on its recording", async () => {
    expect(await desk.type(["replay", ended.runId])).toMatchObject({ code: 0 });
  });
});

describe("without a model, over HTTP and by commands", () => {
  test("no request starts work, and each is answered with the sentence", async () => {
    await using api = await openApi({ profiles: [testProfile("lone", { tools: [] })] });
    const { client, engine } = api;
    await using before = await engine.another({
      model: ({ caller }) => (caller.task === "fail" ? { fault: "unauthorized" } : "said"),
    });
    const done = await before.run({ task: "talk", profile: "general" });
    const failed = await before.run({ task: "fail", profile: "general" });
    const plan = { steps: [{ title: "Look", description: "Look around", profile: "coder" }] };
    const ways: Readonly<Record<string, () => Promise<unknown>>> = {
      run: () => client.startRun({ task: "do it" }),
      "run of a profile": () => client.startRun({ task: "do it", profile: "lone" }),
      "run that waits": () => client.startRun({ task: "do it", wait: 20_000 }),
      plan: () => client.startRun({ plan }),
      "resume of a run": () => client.resumeRun({ runId: failed.runId }),
      "resume of a delegation": () =>
        client.resumeDelegation({ delegationId: failed.delegationId }),
      fork: () => client.forkRun({ runId: done.runId, at: 5 }),
      message: () => client.continueSession({ sessionId: done.delegationId, message: "and now?" }),
    };
    for (const [way, start] of Object.entries(ways)) {
      const refusal = await start().then(
        () => "it started",
        (error: unknown) => error,
      );
      expect([way, refusal]).toEqual([
        way,
        expect.objectContaining({
          problem: expect.objectContaining({
            status: 422,
            code: "model-not-configured",
            detail: expect.stringMatching(sentence),
          }),
        }),
      ]);
    }
    for (const text of ["/oracle why?", "/orchestrate it", "/spawnagent coder x", "/pair look"]) {
      const reply = await client.executeCommand({ text });
      expect(reply).toMatchObject({ ok: false, reply: expect.stringMatching(sentence) });
      const by = { id: "otto", role: "operator" } as const;
      const own = await executeCommand(fromUser(text, by), commandContext(engine, by, {}));
      expect(own).toMatchObject({ ok: false, code: "model-not-configured" });
    }
    expect(await engine.store.listRuns({ limit: 100 })).toHaveLength(2);
  });
});

describe("without a model, from a program", () => {
  test("every call rejects with the sentence, and nothing is written", async () => {
    const mandate = await createMandate({ database: ":memory:", environment: {} });
    try {
      const ways: readonly (() => Promise<unknown>)[] = [
        () => mandate.delegate({ profile: "coder", task: "do it" }),
        () => mandate.start({ profile: "general", task: "do it" }),
        () => mandate.start({ task: "reach it", profile: "orchestrator", isGoal: true }),
        () => mandate.tools(),
      ];
      for (const start of ways) await expect(start()).rejects.toEqual(noModel);
      for await (const event of mandate.events()) throw new Error(`wrote ${event.type}`);
    } finally {
      await mandate.close();
    }
  });

  test("a program that gives its own model needs no other", async () => {
    const models = { "acme/small": scriptedModel(() => "own words") };
    const mandate = await createMandate({ database: ":memory:", environment: {}, models });
    try {
      const { result } = await mandate.delegate({ profile: "analyst", task: "say it" });
      expect(result).toBe("own words");
    } finally {
      await mandate.close();
    }
  });

  test("a profile whose own model cannot be reached is refused before a run exists", async () => {
    const profiles = [testProfile("far", { tools: [], model: { model: "openai/gpt-6.1-sol" } })];
    await using engine = await openEngine({ profiles });
    await expect(engine.start({ task: "x", profile: "far" })).rejects.toMatchObject({
      code: "model-not-configured",
      message: expect.stringContaining("OPENAI_API_KEY"),
    });
    expect(await engine.store.listRuns({})).toEqual([]);
  });

  test("a worker without a model does not start", async () => {
    await using engine = await openEngine({});
    const database = { ...engine.config.database, url: "postgres://127.0.0.1:1/none" };
    const runtimes = [{ ...engine, config: { ...engine.config, database } }];
    await expect(startWorker({ runtimes, log: () => undefined })).rejects.toEqual(noModel);
  });

  test("an interrupted run whose model is gone stays as it is, and a resume says why", async () => {
    await using engine = await openEngine({
      models: { openai: scriptedModel(() => ({ text: "late", latency_ms: 60_000 })) },
      environment: { MANDATE_MODEL: "openai/gpt-6.1-sol" },
    });
    const { runId } = await engine.start({ task: "x", profile: "general" });
    engine.abandon();
    await using next = await engine.another({});
    await expect(next.engine.recover(runId)).rejects.toMatchObject({
      code: "model-not-configured",
      message: expect.stringContaining("OPENAI_API_KEY"),
    });
    expect(await next.engine.recover()).toEqual([]);
    expect(await next.engine.cancel(runId, "not needed")).toBe("cancelled");
  });
});

describe("without a model, over MCP", () => {
  test("every tool that starts sub-agents answers with an error that says why, and no run is opened", async () => {
    await using desk = new McpDesk({});
    const client = await desk.connect({ era: "2025-11-25", isProcess: true });
    const calls: Readonly<Record<string, Record<string, unknown>>> = {
      delegate_task: { profile: "coder", task: "do it" },
      spawn: { task: "do it" },
      spawn_subagent: { agentId: "coder", prompt: "do it" },
      request_review: { paths: ["a.txt"] },
    };
    for (const [name, input] of Object.entries(calls)) {
      const result = await client.callTool({ name, arguments: input });
      const [content] = result.content;
      expect({ name, isError: result.isError, content }).toEqual({
        name,
        isError: true,
        content: { type: "text", text: expect.stringMatching(sentence) },
      });
    }
    expect(await client.callTool({ name: "list_sub_agents", arguments: {} })).toMatchObject({
      structuredContent: { subAgents: [] },
    });
    await desk.withStore(async (store) => expect(await store.listRuns({})).toEqual([]));
  });
});
