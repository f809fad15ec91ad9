import { expect, test } from "vitest";
import { Inbox } from "../../sessions/inbox.ts";
import { type ChatDesk, enter, escapeKey, sitDownWith } from "./chat.test-support.ts";

const playbook = `
version: 1
name: news
replies:
  - when: { depth: 0, turn: 1, last: "delegate" }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Count the files" } }]
  - when: { depth: 0, turn: 1, last: "question" }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - when: { depth: 0, turn: 1, last: "long work" }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Never ends" } }]
  - when: { depth: 0, turn: 1, last: "deep trouble" }
    calls: [{ tool: delegate_task, input: { profile: general, task: "Hand it on" } }]
  - when: { depth: 1, turn: 1, task: "Hand it on" }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Fail" } }]
  - when: { task: "Fail" }
    text: "x"
    served: "other/model"
  - when: { task: "Never ends" }
    text: "late"
    latency_ms: 60000
  - text: "Heard it."
`;

const sitDown = sitDownWith(playbook);

/** Looks at the status line when everything that happened is shown. */
async function seeStatus(chat: ChatDesk, line: string | RegExp): Promise<void> {
  await chat.see("say something");
  await chat.settle();
  await chat.see(line);
}

/** What `mandate inbox` would tell. */
async function news({ runtime: { store } }: ChatDesk): Promise<readonly string[]> {
  return (await new Inbox(store).unread()).map(({ title }) => title);
}

async function runElsewhere({ runtime: { engine } }: ChatDesk, task: string): Promise<void> {
  await (await engine.startRun({ task, profile: "general" })).result;
}

test("What the conversation told is no news, here or on the command line", async () => {
  const chat = await sitDown();
  await chat.say("Please delegate it");
  await chat.see("● Heard it.");
  await seeStatus(chat, /\^O inbox {2}\^T/);
  expect(await news(chat)).toEqual([]);
  // Nothing was taken out.
  expect(await new Inbox(chat.runtime.store).read()).toHaveLength(2);
});

test("The badge does not light up for a moment, either", async () => {
  const chat = await sitDown();
  const badges = new Set<string>();
  chat.store.subscribe(() => badges.add(String(chat.store.state.inbox.unread)));
  for (const said of ["one", "two", "three"]) {
    await chat.say(said);
    await chat.see(new RegExp(`› ${said}\\s+● Heard it\\.`));
    await seeStatus(chat, /\^O inbox {2}\^T/);
  }
  expect([...badges]).toEqual(["0"]);
});

test("A question that was answered in the chat is no news, nor is one of another run", async () => {
  const chat = await sitDown();
  await chat.say("I have a question");
  await chat.see("your answer to");
  await chat.press("blue", enter);
  await chat.see("● Heard it.");
  await seeStatus(chat, /\^O inbox {2}\^T/);
  expect(await news(chat)).toEqual([]);
  const elsewhere = runElsewhere(chat, "a question");
  await chat.see("in another run: a question");
  await chat.press("\t", enter, "green", enter);
  await elsewhere;
  await chat.see(/general#\w+ \(run: a question\) asked\s+│ Which colour\?\s+→ green/);
  expect(chat.frame.match(/→ blue/g)).toHaveLength(1);
  // That it was answered is known; how it ended was told by nobody.
  await seeStatus(chat, "^O inbox (1 new)");
  expect(await news(chat)).toEqual(["Run succeeded: a question"]);
});

test("A question that was answered by a command is no news", async () => {
  const chat = await sitDown();
  const elsewhere = runElsewhere(chat, "a question");
  await chat.see("Ctrl+O shows it");
  const [asked] = await new Inbox(chat.runtime.store).open();
  await chat.say(`/answer ${asked?.ask?.id} red`);
  await elsewhere;
  await seeStatus(chat, "^O inbox (1 new)");
});

test("What happened elsewhere stays news, and what was told after it is not counted here", async () => {
  const chat = await sitDown();
  await runElsewhere(chat, "something else");
  await chat.see("(1 new)");
  await chat.say("hello");
  await chat.see("● Heard it.");
  await seeStatus(chat, "^O inbox (1 new)");
  // A place has no holes: it stays before what was not seen.
  expect(await news(chat)).toEqual(["Run succeeded: something else", "Run succeeded: hello"]);
});

test("What went wrong further down, and was not told, is news", async () => {
  const chat = await sitDown();
  await chat.say("deep trouble");
  await chat.see("● Heard it.");
  await seeStatus(chat, "^O inbox (1 new)");
  expect((await news(chat))[0]).toMatch(/^researcher failed/);
});

test("How a run ends that was left running is news", async () => {
  const chat = await sitDown();
  await chat.say("long work");
  await chat.see(/researcher#\w+ running/);
  await chat.press(escapeKey);
  await chat.see("Leave it running");
  await chat.press("3");
  await chat.see("general, new session");
  for (const { id } of chat.runtime.engine.liveRuns) await chat.runtime.engine.cancel(id, "enough");
  await chat.see(/\(\d new\)/);
  expect(await news(chat)).toContain("Run was cancelled: long work");
});

test("What a command started is told in the conversation when it ends, and is no news", async () => {
  const chat = await sitDown();
  await chat.say("/oracle what is this?");
  await chat.see("● Heard it.");
  await seeStatus(chat, /\^O inbox {2}\^T/);
  expect(await news(chat)).toEqual([]);
});
