import { describe, expect, test } from "vitest";
import { testProfile } from "../../testing/engine-fixture.ts";
import { type ChatDesk, sitDownWith } from "./chat.test-support.ts";

const playbook = `
version: 1
name: background
replies:
  - when: { depth: 0, turn: 1, last: "survey" }
    calls: [{ tool: spawn_subagent, input: { agentId: researcher, prompt: "Look around", returnMode: background } }]
  - when: { depth: 0, last: "and what else" }
    text: "The next answer."
  - when: { depth: 0, turn: 2 }
    text: "It is under way."
  - when: { depth: 0 }
    text: "I started it."
  - text: "Seen all of it."
`;

const sitDown = sitDownWith(playbook);

test("The next message can be said as soon as the answer is there, and the child is told of when it ends", async () => {
  const mayEnd = Promise.withResolvers<void>();
  const chat = await sitDown({ childrenAfter: mayEnd.promise });
  await chat.say("survey");
  await chat.see("● I started it.");
  await chat.see(/In the background: researcher#\w+/);
  await chat.see(/general#\w+ answered · researcher#\w+ running/);
  expect(chat.store.state.turn).toBeNull();
  await chat.say("and what else");
  await chat.see("● The next answer.");
  expect(chat.frame).toMatch(/researcher#\w+ running/);
  mayEnd.resolve();
  await chat.see(/✓ researcher#\w+ {2}Look around/);
  await chat.settle();
  expect(chat.frame.match(/I started it\./g)).toHaveLength(1);
  expect(chat.store.state.agents).toEqual([]);
  expect(chat.store.state.inbox.unread).toBe(0);
});

test("What was typed while the agent worked is said when it has answered", async () => {
  const mayEnd = Promise.withResolvers<void>();
  const chat = await sitDown({ childrenAfter: mayEnd.promise });
  await chat.say("survey");
  await chat.say("and what else");
  await chat.see("● I started it.");
  await chat.see("● The next answer.");
  expect(chat.frame).toMatch(/researcher#\w+ running/);
  mayEnd.resolve();
  await chat.see(/✓ researcher#\w+ {2}Look around/);
});

describe("Leaving while a child runs in the background", () => {
  const ctrlC = "\u0003";
  const ctrlD = "\u0004";
  const escapeKey = "\u001b";

  async function answered(mayEnd: Promise<void>, profile = "researcher"): Promise<ChatDesk> {
    const book = playbook.replace("agentId: researcher", `agentId: ${profile}`);
    const profiles = [testProfile("rester", { tools: [], onParentInterrupt: "pause" })];
    const chat = await sitDown({ playbook: book, childrenAfter: mayEnd, profiles });
    await chat.say("survey");
    await chat.see(new RegExp(`answered · ${profile}#\\w+ running`));
    return chat;
  }

  async function childOf(chat: ChatDesk) {
    const [row] = await chat.runtime.store.listRuns({ limit: 1 });
    const run = await chat.runtime.store.readRun(row?.id ?? "");
    const child = [...(run?.delegations.values() ?? [])].find(({ depth }) => depth === 1);
    return { run, child };
  }

  const never = new Promise<void>(() => undefined);

  test("asks what becomes of it, and Esc stays", async () => {
    const chat = await answered(never);
    await chat.press(ctrlD);
    await chat.see("Leave: what should happen to the sub-agents in the background?");
    await chat.see(/Open: researcher#\w+ \(cancel\)/);
    await chat.see("1 Wait for them");
    await chat.press(escapeKey);
    expect(chat.store.state.panel.is).toBe("none");
  });

  test("waits for it, and leaves when it has ended", async () => {
    const mayEnd = Promise.withResolvers<void>();
    const chat = await answered(mayEnd.promise);
    await chat.press(ctrlD, "1");
    await chat.see("Leaving when the sub-agents have ended; Esc stays");
    mayEnd.resolve();
    await chat.driver.departure.left;
    expect(await childOf(chat)).toMatchObject({
      run: { outcome: "succeeded" },
      child: { finalStatus: "completed" },
    });
    expect(chat.store.state.agents).toEqual([]);
  });

  test("gives it to a process of its own", async () => {
    const chat = await answered(never);
    await chat.press(ctrlD, "2");
    await chat.driver.departure.left;
    const { child, run } = await childOf(chat);
    expect([run?.outcome, child?.status]).toEqual([null, "running"]);
    expect(chat.detached).toEqual([run?.id]);
    expect(chat.driver.departure.detached).toEqual([run?.id]);
  });

  test("cancels it, and what was answered stays", async () => {
    const chat = await answered(never);
    await chat.press(ctrlD, "3");
    await chat.driver.departure.left;
    expect(await childOf(chat)).toMatchObject({
      run: { outcome: "succeeded" },
      child: { finalStatus: "failed", closeReason: "cancelled" },
    });
    expect(chat.store.state.agents).toEqual([]);
  });

  test("treats it as at an interrupt when there is no answer", async () => {
    const chat = await answered(never, "rester");
    await chat.press(ctrlD);
    await chat.see(/Open: rester#\w+ \(pause\)/);
    await chat.press(ctrlC);
    await chat.driver.departure.left;
    const { child, run } = await childOf(chat);
    expect(run?.outcome).toBeNull();
    expect(child).toMatchObject({ status: "running", waitingOn: { on: "paused" } });
  });
});
