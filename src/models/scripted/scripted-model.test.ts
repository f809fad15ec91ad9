import { expect, test } from "vitest";
import type { Message, ModelPart, ModelRequest } from "../../ports/model.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { exampleRequest, toolResult } from "../example-request.test-support.ts";
import type { Playbook, PlaybookReply } from "./playbook.ts";
import { scriptedModel } from "./scripted-model.ts";

type Overrides = Parameters<typeof exampleRequest>[0];

function playbook(...replies: PlaybookReply[]): Playbook {
  return { version: 1, name: "test", replies };
}

async function textFor(book: Playbook, overrides?: Overrides): Promise<string> {
  return (await scriptedModel(book)(exampleRequest(overrides), () => {})).text;
}

async function heard(book: Playbook, request: ModelRequest = exampleRequest()) {
  const parts: ModelPart[] = [];
  const reply = await scriptedModel(book)(request, (part) => parts.push(part));
  return { reply, parts };
}

test("the first reply whose conditions all hold is given", async () => {
  const book = playbook(
    { when: { profile: "reviewer", turn: 1 }, text: "reviewer begins" },
    { when: { profile: "reviewer" }, text: "reviewer goes on" },
    { when: { depth: 1, attempt: 2 }, text: "second attempt" },
    { when: { task: "COUNT" }, text: "never, the case differs" },
    { when: { task: "/COUNT/i" }, text: "counting" },
    { when: { tool: "grep", last: "3 matches" }, text: "found" },
    { when: { turn: "3-4" }, text: "three or four" },
    { when: { turn: "5+", try: 2 }, text: "late, second try" },
    { text: "anything else" },
  );
  expect(await textFor(book, { caller: { profile: "reviewer" } })).toBe("reviewer begins");
  expect(await textFor(book, { caller: { profile: "reviewer", turn: 2 } })).toBe(
    "reviewer goes on",
  );
  expect(await textFor(book, { caller: { depth: 1, attempt: 2 } })).toBe("second attempt");
  expect(await textFor(book, { caller: { task: "count it" } })).toBe("counting");
  expect(await textFor(book, { messages: [toolResult("grep", "3 matches")] })).toBe("found");
  expect(await textFor(book, { messages: [toolResult("glob", "3 matches")] })).toBe(
    "anything else",
  );
  expect(await textFor(book, { caller: { turn: 4 } })).toBe("three or four");
  expect(await textFor(book, { caller: { turn: 9, try: 2 } })).toBe("late, second try");
});

test("without a fitting reply the author is told what was asked", async () => {
  const book = playbook({ when: { profile: "other" }, text: "x" });
  const messages = [toolResult("grep", "no matches at all")];
  const asked = textFor(book, { messages, caller: { profile: "reviewer", turn: 7 } });
  await expect(asked).rejects.toMatchObject({ kind: "rejected" });
  const words = /"test".*profile "reviewer", turn 7.*result of grep, "no matches at all"/;
  await expect(asked).rejects.toThrow(words);
});

test("calls have ids that are unique within a delegation, and inputs with what was said", async () => {
  const messages: Message[] = [
    { role: "user", text: "go" },
    { role: "assistant", text: "", calls: [] },
    toolResult("spawn", "a1b2c3"),
    toolResult("spawn", "d4e5f6"),
  ];
  const book = playbook({
    calls: [
      { tool: "spawn_await", input: { job_ids: "{{ids:spawn}}", list: ["{{result:2}}", 5] } },
      { tool: "note", id: "mine" },
    ],
  });
  const first = await heard(book, exampleRequest({ messages, caller: { turn: 2 } }));
  expect(first.reply.finish).toBe("tool-calls");
  expect(first.reply.calls).toEqual([
    {
      id: "call_2_1",
      name: "spawn_await",
      input: { job_ids: "a1b2c3,d4e5f6", list: ["d4e5f6", 5] },
    },
    { id: "mine", name: "note", input: {} },
  ]);
  const second = await heard(book, exampleRequest({ messages, caller: { turn: 2, attempt: 2 } }));
  expect(second.reply.calls[0]?.id).toBe("call_2_2_1");
});

test("every placeholder is filled", async () => {
  const text =
    "{{profile}} {{turn}} {{try}} {{attempt}} {{depth}} {{task}} {{last}} | {{results}} | " +
    "{{result:1}} {{result:-1}} {{result:spawn:1}} {{result:2.status.code}} {{ open }}x}}";
  const messages: Message[] = [
    { role: "user", text: "go" },
    toolResult("grep", "one"),
    { role: "assistant", text: "", calls: [] },
    toolResult("query", '{"status":{"code":7}}'),
    toolResult("spawn", "a1"),
  ];
  expect(await textFor(playbook({ text }), { messages })).toBe(
    'general 1 1 1 0 hello a1 | {"status":{"code":7}}\n\na1 | one a1 a1 7 {{x}}',
  );
});

test("a result that is not there yet is a fault that says so", async () => {
  const asked = textFor(playbook({ text: "{{result:spawn:2}}" }), {
    messages: [toolResult("spawn", "a")],
  });
  await expect(asked).rejects.toThrow("there are 1 tool results of spawn");
});

test("a reply with times is given that often, counted from the conversation alone", async () => {
  const book = playbook({ times: 2, text: "twice" }, { text: "then this" });
  const messages: Message[] = [{ role: "user", text: "go" }];
  const given: string[] = [];
  for (let turn = 1; turn <= 4; turn += 1) {
    // A new model every time, as after a crash.
    const text = await textFor(book, { messages: [...messages], caller: { turn } });
    given.push(text);
    messages.push({ role: "assistant", text, calls: [] }, { role: "user", text: "go on" });
  }
  expect(given).toEqual(["twice", "twice", "then this", "then this"]);
});

test("faults with times are counted by the tries of the turn", async () => {
  const book = playbook(
    { when: { turn: 1 }, times: 2, fault: "overloaded" },
    { when: { turn: 2 }, times: 1, fault: "connection" },
    { times: 1, text: "first answer" },
    { text: "later answer" },
  );
  const ask = (turn: number, attemptedTry: number, messages: Message[]) =>
    textFor(book, { messages, caller: { turn, try: attemptedTry } });
  const start: Message[] = [{ role: "user", text: "go" }];
  await expect(ask(1, 1, start)).rejects.toMatchObject({ kind: "overloaded" });
  await expect(ask(1, 2, start)).rejects.toMatchObject({ kind: "overloaded" });
  expect(await ask(1, 3, start)).toBe("first answer");
  const later: Message[] = [
    ...start,
    { role: "assistant", text: "first answer", calls: [] },
    { role: "user", text: "go on" },
  ];
  await expect(ask(2, 1, later)).rejects.toMatchObject({ kind: "connection" });
  expect(await ask(2, 2, later)).toBe("later answer");
});

test("the text is streamed in pieces, and usage is estimated the same every time", async () => {
  const book = playbook({ text: "abcdefghij", chunks: 3 });
  const { reply, parts } = await heard(book, exampleRequest({ system: "be brief" }));
  expect(parts.map((part) => part.type === "text" && part.text)).toEqual(["abcd", "efgh", "ij"]);
  expect(reply).toEqual({
    text: "abcdefghij",
    calls: [],
    finish: "stop",
    usage: { prompt: 4, completion: 3 },
    served: "scripted/test",
  });
});

test("usage, served model and finish can be told", async () => {
  const usage = { prompt: 10, completion: 5, cached: 3, cacheWrite: 2 };
  const { reply } = await heard(
    playbook({ text: "x", usage, served: "other/m", finish: "length" }),
  );
  expect(reply).toMatchObject({ usage, served: "other/m", finish: "length" });
});

test("latency is waited for, and an abort ends it with the signal's reason", async () => {
  const clock = new ManualClock();
  let isAnswered = false;
  const slow = scriptedModel(playbook({ text: "slow", latency_ms: 30 }), clock);
  const answer = slow(exampleRequest(), () => {}).then(() => {
    isAnswered = true;
  });
  await clock.advance(29);
  expect(isAnswered).toBe(false);
  await clock.advance(1);
  await answer;
  const controller = new AbortController();
  const book = playbook({ text: "never", latency_ms: 60_000 });
  const asked = heard(book, exampleRequest({ signal: controller.signal }));
  controller.abort("enough");
  await expect(asked).rejects.toBe("enough");
});

test("an unknown placeholder in an object is found when the model is made", () => {
  const make = () => scriptedModel(playbook({ text: "{{lsat}}" }));
  expect(make).toThrow(/unknown placeholder "{{lsat}}"; did you mean "{{last}}"/);
});

test("a function can answer, at once or later, with text or a whole reply", async () => {
  const ask = (model: ReturnType<typeof scriptedModel>) => model(exampleRequest(), () => {});
  expect((await ask(scriptedModel(() => "plain"))).text).toBe("plain");
  expect((await ask(scriptedModel(async () => ({ text: "later" })))).text).toBe("later");
  const usage = { prompt: 1, completion: 1 };
  const told = await ask(scriptedModel(() => ({ calls: [{ tool: "t" }], usage })));
  expect(told).toMatchObject({ usage, calls: [{ id: "call_1_1", name: "t", input: {} }] });
  const broken = scriptedModel(() => {
    throw new Error("my own");
  });
  await expect(ask(broken)).rejects.toThrow("my own");
});

test("an aborted request is not answered", async () => {
  const model = scriptedModel(() => "x");
  const asked = model(exampleRequest({ signal: AbortSignal.abort("gone") }), () => {});
  await expect(asked).rejects.toBe("gone");
});
