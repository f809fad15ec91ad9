import { generateText, stepCountIs, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { defineTool } from "../../tools/tool.ts";
import { createMandate, type Mandate } from "./mandate.ts";

let mandate: Mandate | undefined;

afterEach(async () => {
  const report = await mandate?.verify();
  await mandate?.close();
  mandate = undefined;
  expect(report?.violations ?? []).toEqual([]);
});

const weather = defineTool({
  name: "weather",
  description: "The weather of a city.",
  effect: "read",
  exposure: { untrusted: true, private: false, wayOut: false },
  idempotent: true,
  scopes: [],
  input: z.strictObject({ city: z.string() }),
  execute: ({ city }) => `Sun over ${city}.`,
});

const scripted = scriptedModel(({ caller, messages }) => {
  const last = messages.at(-1);
  if (caller.profile === "meteorologist" && last?.role === "user") {
    return { calls: [{ tool: "weather", input: { city: "Lisbon" } }] };
  }
  return { text: `${caller.profile} says: ${last?.text ?? ""}` };
});

const meteorologist = {
  name: "meteorologist",
  description: "Knows the weather",
  capabilities: ["subtask" as const],
  prompt: "You know the weather.",
  tools: ["weather"],
  origin: "test",
};

function open(): Promise<Mandate> {
  return createMandate({
    database: ":memory:",
    environment: {},
    scripted,
    tools: [weather],
    profiles: [meteorologist],
  });
}

describe("createMandate", () => {
  it("delegates, tells about it in typed events, and gives the same result again", async () => {
    mandate = await open();
    const closed: string[] = [];
    mandate.on("agent.subagent_closed", (event) => closed.push(event.payload.close_reason));
    const result = await mandate.delegate({ profile: "meteorologist", task: "Lisbon?" });
    expect(result).toMatchObject({
      status: "completed",
      result: "meteorologist says: Sun over Lisbon.",
      closeReason: "report_accepted",
      evidence: { tool_calls: 1, turns: 2 },
    });
    expect(closed).toEqual(["report_accepted"]);
    expect(await mandate.getResult(result.delegationId)).toMatchObject({
      result: result.result,
      evidence: result.evidence,
    });
    expect(await mandate.listActive()).toEqual([]);
  });

  it("lists who is active, children below their callers, until they end", async () => {
    const working = scriptedModel(({ caller }) => {
      if (caller.depth > 0) return { fault: "hang" };
      return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "dig" } }] };
    });
    const lead = { ...meteorologist, name: "lead", tools: ["delegate_task"] };
    const worker = { ...meteorologist, name: "worker", tools: [] };
    mandate = await createMandate({
      database: ":memory:",
      environment: {},
      scripted: working,
      profiles: [lead, worker],
    });
    let started: () => void = () => {};
    const childIsAtWork = new Promise<void>((resolve) => {
      started = resolve;
    });
    // The root begins before its id is known here: the first to begin is the root, the next the child.
    let begun = 0;
    mandate.on("agent.subagent_started", () => {
      if (++begun > 1) started();
    });
    const { delegationId, result } = await mandate.start({ profile: "lead", task: "build" });
    await childIsAtWork;
    const active = await mandate.listActive();
    expect(active).toMatchObject([
      {
        delegationId,
        parentId: null,
        profile: "lead",
        title: "build",
        status: "running",
        depth: 0,
      },
      { parentId: delegationId, profile: "worker", title: "dig", status: "running", depth: 1 },
    ]);
    await mandate.cancel(delegationId);
    await result;
    expect(await mandate.listActive()).toEqual([]);
  });

  it("sends messages to agents that work, as the program's words or as a person's", async () => {
    const [asked, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const thinking = scriptedModel(async ({ caller, messages }) => {
      if (caller.turn > 1)
        return messages
          .slice(-2)
          .map(({ text }) => text)
          .join("; ");
      asked.resolve();
      await told.promise;
      return "an answer";
    });
    const thinker = { ...meteorologist, name: "thinker", tools: [] };
    const options = { database: ":memory:", environment: {}, profiles: [thinker] };
    mandate = await createMandate({ ...options, scripted: thinking });
    const { delegationId, result, runId } = await mandate.start({
      profile: "thinker",
      task: "think",
    });
    await asked.promise;
    const sent = await mandate.send(delegationId, "look at b");
    expect(sent).toEqual({ delegationId, messageId: expect.stringMatching(/^m/) });
    await mandate.send(runId, "and c", { isTyped: true });
    expect(await mandate.listActive()).toMatchObject([{ delegationId, unreadMessages: 2 }]);
    told.resolve();
    expect((await result).result).toBe(
      "Message from the agent or program that you work for: look at b; Message from the person behind this run: and c",
    );
    await expect(mandate.send(delegationId, "too late")).rejects.toMatchObject({
      code: "already-terminal",
    });
    let text = "";
    for await (const piece of mandate.sessions.export(delegationId)) text += piece;
    expect(text).toContain("look at b");
    expect(text.indexOf("look at b")).toBeLessThan(text.indexOf("and c"));
  });

  it("takes an empty or null parameter for one that is not given", async () => {
    mandate = await open();
    const empty = { context: "", timeout: null, modelOverride: "", maxTokenBudget: null };
    const given = { profile: "meteorologist", task: "Rain?", ...empty };
    const { result } = await mandate.delegate(given as never);
    expect(result).toContain("meteorologist says:");
  });

  it("refuses an unknown profile and an empty task with a code and a sentence", async () => {
    mandate = await open();
    await expect(mandate.delegate({ profile: "nobody", task: "x" })).rejects.toMatchObject({
      code: "unknown-profile",
    });
    await expect(mandate.delegate({ profile: "meteorologist", task: " " })).rejects.toMatchObject({
      code: "task-required",
    });
  });

  it("puts its delegation tools into an AI SDK agent, under a contract of their own", async () => {
    mandate = await open();
    const delegation = await mandate.tools({ client: "my-agent" });
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        const last = prompt.at(-1);
        const usage = {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        };
        if (last?.role === "tool") {
          const text = JSON.stringify(last.content);
          return {
            content: [{ type: "text", text }],
            finishReason: { unified: "stop", raw: "stop" },
            usage,
            warnings: [],
          };
        }
        const input = JSON.stringify({ profile: "meteorologist", task: "Lisbon?" });
        return {
          content: [{ type: "tool-call", toolCallId: "1", toolName: "delegate_task", input }],
          finishReason: { unified: "tool-calls", raw: "tool-calls" },
          usage,
          warnings: [],
        };
      },
    });
    const { text } = await generateText({
      model,
      prompt: "What is the weather in Lisbon?",
      tools: delegation.tools as ToolSet,
      stopWhen: stepCountIs(3),
    });
    expect(text).toContain("Sun over Lisbon.");
    const spawned = await delegation.tools["spawn"]?.execute({
      profile: "meteorologist",
      task: "Again",
    });
    expect(spawned).toMatch(/^[0-9a-f]{6,}$/);
    expect(await delegation.tools["spawn_await"]?.execute({ job_ids: "*" })).toContain(
      `[${spawned}: OK]`,
    );
    await delegation.close();
    const types: string[] = [];
    for await (const event of mandate.events({ runId: delegation.runId })) types.push(event.type);
    expect(types.at(-1)).toBe("run.finished");
  });

  it("has an inbox that tells what ended, and remembers what each reader has seen", async () => {
    mandate = await open();
    const { inbox } = mandate;
    const heard: string[] = [];
    const stop = inbox.on(({ title }) => heard.push(title));
    await mandate.delegate({ profile: "meteorologist", task: "Lisbon?" });
    const items = await inbox.unread();
    expect(items.map(({ kind, title }) => [kind, title])).toEqual([
      ["run", "Run succeeded: Lisbon?"],
    ]);
    expect(heard).toEqual(items.map(({ title }) => title));
    stop();
    await inbox.markRead(items.at(-1)?.id ?? 0);
    expect(await mandate.inbox.unread()).toEqual([]);
    expect(await mandate.inbox.unread({ reader: "ann" })).toEqual(items);
    expect(await mandate.inbox.read()).toEqual(items);
  });
});
