import { describe, expect, it } from "vitest";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { Message } from "../../ports/model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { Hold } from "../../testing/hold-tool.test-support.ts";

const tools = ["spawn", "spawn_await", "send_message", "list_sub_agents"];
const profiles = [
  testProfile("lead", { tools, mayDelegate: { tools: ["delegate_task", "hold"] } }),
  testProfile("middle", { tools: ["delegate_task", "hold"] }),
  testProfile("worker", { tools: ["hold"] }),
];

const resultsOf = (messages: readonly Message[], tool: string): string[] =>
  messages.flatMap((each) => (each.role === "tool" && each.tool === tool ? each.text : []));
const spawn: ScriptedCall = { tool: "spawn", input: { task: "work", profile: "worker" } };
const await_: ScriptedCall = { tool: "spawn_await", input: { job_ids: "*" } };
const send = (delegationId: string | undefined, message: string): ScriptedCall => ({
  tool: "send_message",
  input: { delegationId, message },
});

/** What the lead calls in one turn; `messages`: its conversation so far. */
type Turn = (messages: readonly Message[]) => readonly ScriptedCall[];

/** Runs the lead, which begins with one call, while its worker is held until the lead waits for it. */
async function play(first: ScriptedCall, ...turns: readonly Turn[]) {
  const hold = new Hold();
  const script: Script = async ({ caller, messages }) => {
    if (caller.profile === "worker") {
      return caller.turn === 1 ? { calls: [{ tool: "hold", input: {} }] } : "worked";
    }
    if (caller.turn === 1) return { calls: [first] };
    await hold.begun;
    const turn = turns[caller.turn - 2];
    if (turn === undefined) return "done";
    const calls = turn(messages);
    if (calls.includes(await_)) hold.release();
    return { calls };
  };
  const { seen, model } = recording(script);
  await using mandate = await openEngine({ profiles, model, tools: [hold.tool] });
  const { events } = await mandate.run({ task: "go", profile: "lead" });
  const by = (profile: string) => seen.filter(({ caller }) => caller.profile === profile);
  return { events, messages: by("lead").at(-1)?.messages ?? [], heard: by("worker").at(-1) };
}

const jobIn = (messages: readonly Message[]) => resultsOf(messages, "spawn")[0];

describe("send_message", () => {
  it("is acknowledged, and the sub-agent reads it before its next turn, once", async () => {
    const { events, heard, messages } = await play(
      spawn,
      (so) => [send(jobIn(so), "one"), send(jobIn(so), "two")],
      () => [await_],
    );
    const job = jobIn(messages);
    const sent = `Sent. ${job} reads it before its next turn.`;
    expect(resultsOf(messages, "send_message")).toEqual([sent, sent]);
    const said = heard?.messages.flatMap((one) => (one.role === "user" ? one : []));
    expect(said?.slice(1)).toEqual(
      ["one", "two"].map((text) => ({
        role: "user",
        text: `Message from the agent or program that you work for: ${text}`,
        from: "caller",
      })),
    );
    expect(ofType(events, "agent.interjected", job)).toHaveLength(2);
  });

  it("reaches every agent below, at any depth", async () => {
    const hold = new Hold();
    const { seen, model } = recording(({ caller }) => {
      const input = { profile: "worker", task: "deep" };
      if (caller.turn > 1) return "done";
      return caller.profile === "middle"
        ? { calls: [{ tool: "delegate_task", input }] }
        : { calls: [{ tool: "hold", input: {} }] };
    });
    await using mandate = await openEngine({ profiles, model, tools: [hold.tool] });
    const session = await mandate.engine.openSession({ client: "desk" });
    const working = session.call("delegate_task", { profile: "middle", task: "work" });
    await hold.begun;
    const listed = JSON.parse((await session.call("list_sub_agents", {})).text) as {
      readonly delegationId: string;
      readonly profile: string;
    }[];
    const worker = listed.find(({ profile }) => profile === "worker")?.delegationId;
    const sent = await session.call("send_message", { delegationId: worker, message: "deep" });
    expect(sent.text).toBe(`Sent. ${worker} reads it before its next turn.`);
    hold.release();
    await working;
    await session.close();
    const last = seen.filter(({ caller }) => caller.profile === "worker").at(-1);
    expect(last?.messages.at(-1)?.text).toMatch(/: deep$/);
  });

  it("fails for one that has ended, with how it ended, and for what is no message", async () => {
    const { events, messages } = await play(
      spawn,
      (so) => [send(jobIn(so), " "), send(jobIn(so), "x".repeat(32_001))],
      () => [await_],
      (so) => [send(jobIn(so), "too late")],
    );
    const job = jobIn(messages);
    expect(resultsOf(messages, "send_message")).toEqual([
      "Error: The message is missing: say what the agent should know or do.",
      expect.stringMatching(/^Error: A message has at most 32000 characters, and this one 32001/),
      `Error: ${job} has ended: completed (report accepted). It reads no more messages.`,
    ]);
    expect(ofType(events, "agent.message_sent")).toEqual([]);
    expect(ofType(events, "agent.tool_failed").length).toBe(3);
  });

  it("fails for an agent that is no sub-agent of one's own, and writes nothing", async () => {
    const { events, messages } = await play(
      spawn,
      () => [send("ffffff", "hello")],
      () => [await_],
    );
    expect(resultsOf(messages, "send_message")).toEqual([
      "Error: there is no sub-agent ffffff of yours",
    ]);
    expect(ofType(events, "agent.message_sent")).toEqual([]);
  });

  it("leaves in the list what a sub-agent has not read yet", async () => {
    const { messages } = await play(
      spawn,
      (so) => [send(jobIn(so), "one"), send(jobIn(so), "two")],
      () => [{ tool: "list_sub_agents", input: {} }],
      () => [await_],
      () => [{ tool: "list_sub_agents", input: {} }],
    );
    const [before, after] = resultsOf(messages, "list_sub_agents").map((text) => JSON.parse(text));
    expect(before).toMatchObject([{ status: "running", unreadMessages: 2 }]);
    expect(after[0]).not.toHaveProperty("unreadMessages");
  });
});
