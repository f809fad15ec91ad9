import { describe, expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { until } from "../../testing/until.ts";
import { displayWidth } from "../cli/display-width.ts";
import { enter, escapeKey, sitDownWith } from "./chat.test-support.ts";

const playbook = `
version: 1
name: frames
replies:
  - when: { depth: 0, turn: 1, last: "delegate" }
    text: "I will ask two."
    calls:
      - { tool: delegate_task, input: { profile: researcher, task: "Count the files" } }
      - { tool: delegate_task, input: { profile: researcher, task: "Count the lines" } }
  - when: { depth: 0, turn: 1, last: "question" }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - when: { depth: 0, turn: 1, last: "long work" }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: "Never ends" } }]
  - when: { depth: 0, last: "hostile" }
    text: "\\e[2J\\e]0;owned\\aRed \\u202e hidden \\e[31m end"
  - when: { depth: 0, last: "hearts" }
    text: "${"\u2764\ufe0f".repeat(70)}> forged\\n${"\u0915\u094d\u0937\u093f".repeat(60)}? forged"
  - when: { depth: 0, last: "stream" }
    text: "one two three four five"
    latency_ms: 2000
    chunks: 5
  - when: { depth: 0, last: "/blue/" }
    text: "It is blue."
  - when: { depth: 0, tool: delegate_task }
    text: "Both are done."
  - when: { depth: 0 }
    text: "Heard: {{last}}"
  - when: { task: "Never ends" }
    text: "late"
    latency_ms: 60000
  - text: "I looked: {{task}}"
    latency_ms: 150
`;

const sitDown = sitDownWith(playbook);

/** Lets models that wait go on by one step. */
async function pass(clock: ManualClock, models: number, ms: number): Promise<void> {
  await until(`${models} models wait`, () => clock.waiting === models);
  await clock.advance(ms);
}

/** Lets the model that streams say so many of its five pieces. */
async function stream(clock: ManualClock, pieces: number): Promise<void> {
  for (let piece = 0; piece < pieces; piece++) await pass(clock, 1, 400);
}

describe.each([
  [80, 24],
  [40, 20],
])("At %i by %i", (columns, rows) => {
  test("a conversation with children is told in order, and no line is wider than the screen", async () => {
    const modelClock = new ManualClock();
    const chat = await sitDown({ columns, rows, modelClock });
    await chat.say("Please delegate it");
    await chat.see(/researcher#\w+ running|\+2/);
    await pass(modelClock, 2, 150);
    const frame = await chat.see("● Both are done.");
    const places = [
      "› Please delegate it",
      "● I will ask two.",
      "✓ researcher#",
      "● Both are done.",
    ];
    expect(places.map((text) => frame.indexOf(text))).toEqual(
      places.map((text) => frame.indexOf(text)).toSorted((one, other) => one - other),
    );
    for (const line of frame.split("\n")) expect(displayWidth(line)).toBeLessThan(columns);
  });

  test.each(["?", "\u0014", "\u000f", "\u0007"])(
    "the panel of key %j fits the screen and closes with Escape",
    async (key) => {
      const chat = await sitDown({ columns, rows });
      await chat.say("Please delegate it");
      await chat.see("● Both are done.");
      const before = chat.frame;
      const said = before.slice(0, before.lastIndexOf("── general"));
      await chat.press(key);
      await chat.see(/Esc\s+closes|Esc c|n begins|Enter goes/);
      const live = chat.frame.slice(said.trimEnd().length);
      expect(live.split("\n").length).toBeLessThanOrEqual(rows);
      for (const line of live.split("\n")) {
        expect(displayWidth(line), line).toBeLessThan(columns);
      }
      await chat.press(escapeKey);
      await chat.see("say something");
    },
  );
});

test("An answer is shown while it is given, and once when it is there", async () => {
  const modelClock = new ManualClock();
  const chat = await sitDown({ modelClock });
  await chat.say("stream it");
  await chat.hear("agent.budget_reserved");
  await stream(modelClock, 2);
  await chat.see(/● one two(?! three four five)/);
  await stream(modelClock, 3);
  await chat.see("● one two three four five");
  await chat.see("say something");
  expect(chat.frame.match(/one two three four five/g)).toHaveLength(1);
});

test("A question of an agent is answered where it is asked", async () => {
  const chat = await sitDown();
  await chat.say("I have a question");
  await chat.see(/your answer to general#\w+[\s\S]*Esc for a message/);
  await chat.say("blue");
  await chat.see("→ blue");
  await chat.see("● It is blue.");
});

test("What is typed while it works is said when it has ended", async () => {
  const modelClock = new ManualClock();
  const chat = await sitDown({ modelClock });
  await chat.say("stream it");
  await chat.hear("agent.budget_reserved");
  await stream(modelClock, 2);
  await chat.see("● one");
  await chat.say("and then?");
  await chat.see("next: and then?");
  await stream(modelClock, 3);
  await chat.see("● Heard: and then?");
  const said = chat.frame;
  expect(said.indexOf("five")).toBeLessThan(said.indexOf("› and then?"));
});

test("Escape asks what becomes of children, and cancels them all when told so", async () => {
  const chat = await sitDown();
  await chat.say("long work");
  await chat.see(/researcher#\w+ running/);
  await chat.press(escapeKey);
  await chat.see("Interrupt: what should happen");
  await chat.see(/researcher#\w+ \(cancel\)/);
  await chat.press("1");
  const frame = await chat.see("Interrupted.");
  expect(frame).toMatch(/■ researcher#/);
  await chat.say("hello again");
  await chat.see("● Heard: hello again");
});

test("What is left running goes on beside a new session, and one can go back to it", async () => {
  const chat = await sitDown();
  await chat.say("long work");
  await chat.see(/researcher#\w+ running/);
  await chat.press(escapeKey);
  await chat.see("Leave it running");
  await chat.press("3");
  await chat.see("general, new session");
  await chat.say("hello");
  await chat.see("● Heard:");
  await chat.see(/researcher#\w+ running/);
  await chat.press("\u0007");
  await chat.see("long work  running");
  await chat.press("\u001b[B", "\u001b[B", enter);
  await chat.see(/general#\w+ works/);
});

test("Commands are completed while they are typed, and answered in place", async () => {
  const chat = await sitDown();
  await chat.press("/sta");
  await chat.see("→ /status");
  await chat.press("\t");
  await chat.see(/› \/status\s*$/m);
  await chat.press(enter);
  await chat.see("Nothing runs.");
});

test("The hotkey of a profile does what its command does", async () => {
  const chat = await sitDown();
  await chat.say("long work");
  await chat.see(/researcher#\w+ running/);
  await chat.press("\u001bp");
  await chat.see(/pair#\w+ watches/);
  await chat.see(/pair#\w+ watching/);
});

test("Nothing that a model says is obeyed by the terminal", async () => {
  const chat = await sitDown();
  await chat.say("hostile please");
  await chat.see("Red");
  await chat.see("say something");
  for (const obeyed of ["\u001b]", "\u0007", "\u202e", "\u001b[2J", "\u001b[31m end"]) {
    expect(chat.rawFrame).not.toContain(obeyed);
  }
});

test("A paste of many lines is written, and not sent", async () => {
  const chat = await sitDown();
  await chat.press("\u001b[200~first\nsecond\nthird\u001b[201~");
  await chat.see(/› first\n\s+second\n\s+third/);
  expect(chat.store.state.turn).toBeNull();
  await chat.press("\u0015", "\u007f", "\u0015", "\u007f", "\u0015");
  // A terminal that does not mark pastes sends them as they are.
  await chat.press("fourth\rfifth\r");
  await chat.see(/› fourth\n\s+fifth/);
  expect(chat.store.state.turn).toBeNull();
});

test("However wide its letters are, what a model says never begins a line", async () => {
  const chat = await sitDown();
  await chat.say("hearts please");
  await chat.see(/forged[\s\S]*forged/);
  await chat.see("say something");
  const said = chat.frame.slice(chat.frame.indexOf("●"), chat.frame.lastIndexOf("──"));
  const lines = said.split("\n").filter((line) => line !== "");
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) expect(line).toMatch(/^(?:● | {2}|──)/);
});

test("A word of the chat that is misspelt, asked about or said with too much is explained", async () => {
  const chat = await sitDown();
  await chat.say("/modl");
  await chat.see("Did you mean /model?");
  await chat.say("/nonsense");
  await chat.see(/There are: [^.]*\/diff, [^.]*\/quit/);
  await chat.say("/help new");
  await chat.see("/new: Begins a new session");
  await chat.say("/quit now");
  await chat.see(/Too much is typed behind \/quit\.\s+Usage: \/quit/);
});

test("/help tells of the words that only a chat has, /keys lists keys, and /new begins anew", async () => {
  const chat = await sitDown();
  await chat.say("/help");
  await chat.see("/quit: Leaves");
  await chat.say("/keys");
  await chat.see("── keys");
  await chat.press(escapeKey);
  await chat.say("hello");
  await chat.see("● Heard:");
  await chat.see("say something");
  await chat.say("/new");
  await chat.see("general, new session");
  await chat.press("\u001b[A");
  await chat.see("› /new");
  await chat.press("\u001b[A");
  await chat.see(/› hello\n/);
  await chat.press("\u0015", "/qui");
  await chat.see("→ /quit");
  await chat.press("\t", enter);
  await chat.driver.departure.left;
});

test("What went wrong stays in the conversation, in full", async () => {
  const chat = await sitDown({ columns: 40, rows: 20 });
  await chat.press("\u0007");
  await chat.see(/^ {2}new session|^› new session/m);
  // Gone since it was listed.
  chat.store.dispatch({
    type: "sessions",
    rows: [
      {
        ...{ id: "gone", runId: "r1", title: "gone", profile: "general", lastMessage: "" },
        ...({ status: "completed", workspace: null, updatedAt: 0, tokens: 0 } as const),
        ...{ cost: 0, runs: 1 },
      },
    ],
  });
  await chat.press("\u001b[B", enter);
  await chat.see(/· There is no session/);
  await chat.press("a");
  const frame = await chat.see(/· There is no session/);
  expect(frame.slice(frame.indexOf("· There"))).toMatch(/sessions lists|gone/);
});
