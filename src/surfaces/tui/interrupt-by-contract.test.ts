import { expect, test } from "vitest";
import { testProfile } from "../../testing/engine-fixture.ts";
import { type ChatDesk, escapeKey, sitDownWith } from "./chat.test-support.ts";

const playbook = `
version: 1
name: contracts
replies:
  - when: { depth: 0, turn: 1, last: "goer" }
    calls: [{ tool: delegate_task, input: { profile: goer, task: "Goes on" } }]
  - when: { depth: 0, turn: 1, last: "rester" }
    calls: [{ tool: delegate_task, input: { profile: rester, task: "Rests" } }]
  - when: { depth: 0 }
    text: "Came back: {{last}}"
  - text: "I am through"
`;

const profiles = [
  testProfile("goer", { tools: [], onParentInterrupt: "continue" }),
  testProfile("rester", { tools: [], onParentInterrupt: "pause" }),
];

const sitDown = sitDownWith(playbook, { profiles });

async function interrupt(child: string, childrenAfter: Promise<void>): Promise<ChatDesk> {
  const desk = await sitDown({ childrenAfter });
  await desk.say(`ask the ${child}`);
  await desk.see(new RegExp(`${child}#\\w+ running`));
  await desk.press(escapeKey);
  await desk.see("1 Stop, as their contracts say");
  await desk.press("1");
  return desk;
}

test("Who continues by its contract comes to its end, and the turn ends after it", async () => {
  const mayEnd = Promise.withResolvers<void>();
  const chat = await interrupt("goer", mayEnd.promise);
  await chat.see("stopping after its sub-agents have finished");
  mayEnd.resolve();
  await chat.see(/✓ goer#\w+ {2}Goes on/);
  await chat.see("Interrupted.");
  expect(chat.frame).not.toContain("Came back");
});

test("Who pauses by its contract rests with the turn, and /resume goes on with both", async () => {
  const mayEnd = Promise.withResolvers<void>();
  const chat = await interrupt("rester", mayEnd.promise);
  const frame = await chat.see(/Paused\. Resume it: \/resume r\w+/);
  const [, run] = /\/resume (r\w+)/.exec(frame) ?? [];
  expect(chat.store.state.turn).toBeNull();
  mayEnd.resolve();
  await chat.say(`/resume ${run}`);
  await chat.see(/✓ rester#\w+ {2}Rests/);
  await chat.see("● Came back");
});
