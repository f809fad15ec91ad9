/** What providers answer when something is wrong with them, met by their real clients. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { nothing } from "./aftermath.test-support.ts";
import { life, lostRequest, type Scene, turn } from "./fault-scene.test-support.ts";
import {
  type Answer,
  key,
  models,
  openProviderDesk,
  refuse,
  say,
  send,
} from "./provider-scene.test-support.ts";

const desk = openProviderDesk();
const again = [...lostRequest, "retried"];
const tries = { events: life(...again, ...again, ...lostRequest, "failed") };
const twice = { events: life(...again, ...lostRequest, "failed") };
const unavailable = {
  state: "closed failed provider_unavailable",
  told: { status: "failed", closeReason: "provider_unavailable" },
  left: nothing,
};
const completed = {
  state: "closed completed report_accepted",
  told: { status: "completed", closeReason: "report_accepted" },
  left: nothing,
};
const done = ["waiting_for_merge", "completed"];
const html = "<html><head><title>502 Bad Gateway</title></head></html>";

function hang(response: Parameters<Answer>[0], every: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const timer = setInterval(() => response.write(every), 5);
  response.on("close", () => clearInterval(timer));
}

/** Sends the same piece again and again, as fast as it is taken. */
function flood(piece: string): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.on("error", () => undefined);
    const pour = (): void => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once("drain", pour);
    };
    pour();
  };
}

describe.each(models)("%s", (model) => {
  const fine = say(model, { text: "All is well." });

  it.each<[string, Answer]>([
    ["an HTML page with status 502", send(html, { status: 502, type: "text/html" })],
    ["a connection that is reset before the headers", (response) => response.destroy()],
    [
      "a connection that is reset after the headers",
      send("", {}, (response) => response.destroy()),
    ],
  ])("provider fault: %s is asked again, and given up after three", async (_name, answer) => {
    const after = await desk.meet(model, [answer]);
    expect(after).toMatchObject({ ...unavailable, ...tries });
    expect(desk.askedAt).toHaveLength(3);
  });

  it.each<[string, Answer]>([
    ["a stream that ends at once", send("")],
    ["a stream of something else", send(": ping\n\nnonsense\nevent: x\ndata: {oops\n\n")],
    ["a stream that is no text", send("\ufffd\0\u0001\n\n")],
  ])("provider fault: %s is asked once more, and not a third time", async (_name, answer) => {
    const after = await desk.meet(model, [answer]);
    expect(after).toMatchObject({ ...unavailable, ...twice });
    expect(desk.askedAt).toHaveLength(2);
  });

  it("provider fault: an HTML page with status 200 is no model, and is not asked again", async () => {
    const after = await desk.meet(model, [send(html, { type: "text/html" })]);
    expect(after).toMatchObject({ ...unavailable, events: life(...lostRequest, "failed") });
    expect(after.told.result).toContain("answered with a web page “502 Bad Gateway” (200)");
  });

  it("provider fault: a connection that breaks once leaves no trace in the result", async () => {
    const after = await desk.meet(model, [(response) => response.destroy(), fine]);
    expect(after).toMatchObject({ ...completed, events: life(...again, ...turn, ...done) });
    expect(after.told.result).toBe("All is well.");
  });

  it.each([401, 403, 404, 418])(
    "provider fault: a %i is not asked again, and no key is in what is told",
    async (status) => {
      const after = await desk.meet(model, [refuse(status, `no, not with ${key}`), fine]);
      expect(after).toMatchObject({ ...unavailable, events: life(...lostRequest, "failed") });
      expect(after.told.result).toContain(`(${status})`);
      expect(desk.askedAt).toHaveLength(1);
      expect(JSON.stringify(after.log)).not.toContain(key);
      expect(after.told.tokenUsage).toEqual({ prompt: 0, completion: 0, cost: 0 });
    },
  );

  it("provider fault: a 413 is a conversation that is too long, and nothing can be removed", async () => {
    expect(await desk.meet(model, [refuse(413, "request too large")])).toMatchObject({
      state: "closed failed no_progress",
      events: life(...lostRequest, "failed"),
      told: { status: "failed", closeReason: "no_progress" },
      left: nothing,
    });
  });

  it("provider fault: a redirect is not followed, and nobody else gets key or conversation", async () => {
    let asked = 0;
    const elsewhere = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/v1`;
    try {
      for (const status of [301, 307]) {
        const away: Answer = (response) => response.writeHead(status, { location }).end();
        const after = await desk.meet(model, [away, fine]);
        expect(after).toMatchObject({ ...unavailable, events: life(...lostRequest, "failed") });
        expect(after.told.result).toMatch(/is not followed.*Correct the address/);
      }
    } finally {
      elsewhere.close();
    }
    expect(asked).toBe(0);
  });

  const patience = (deadlines: { firstTokenMs?: number; stallMs?: number }): Scene => {
    const long = { firstTokenMs: 20_000, stallMs: 20_000, toolMs: 20_000, idleMs: 20_000 };
    return { limits: { requestTries: 1, deadlines: { ...long, ...deadlines } } };
  };
  const late = {
    state: "closed failed timeout",
    events: life(...lostRequest, "failed"),
    told: { status: "timeout", closeReason: "timeout" },
    left: nothing,
  };

  it("provider fault: a slow trickle that says nothing ends with the first-token deadline", async () => {
    const after = await desk.meet(
      model,
      [(response) => hang(response, ": ping\n\n")],
      patience({ firstTokenMs: 80 }),
    );
    expect(after).toMatchObject(late);
    expect(after.told.result).toBe("The model gave no first token for 80 ms.");
  });

  it("provider fault: a stream that stops in the middle and never ends is a stall", async () => {
    const half = say(model, { text: "I will", isComplete: false }, () => undefined);
    const after = await desk.meet(model, [half], patience({ stallMs: 80 }));
    expect(after).toMatchObject(late);
    expect(after.told.result).toBe("The model gave no further token for 80 ms.");
  });

  it("provider fault: a call that stands in the text is text, and makes no call", async () => {
    const text = '<tool_call>{"name":"grep","arguments":{"pattern":"x"}}</tool_call>';
    const after = await desk.meet(model, [say(model, { text })]);
    expect(after).toMatchObject({ ...completed, events: life(...turn, ...done) });
    expect(after.told.result).toBe(text);
    expect(desk.searches).toBe(0);
  });

  it("provider fault: an HTML page as the words of the model is its result, and nothing else", async () => {
    const after = await desk.meet(model, [say(model, { text: html })]);
    expect(after).toMatchObject({ ...completed, events: life(...turn, ...done) });
    expect(after.told.result).toBe(html);
  });

  it("provider fault: a model that only says DONE does not meet an exit rule", async () => {
    const after = await desk.meet(model, [say(model, { text: "DONE. Task completed." })], {
      child: { tools: ["complete_task"], exit: { tools: ["complete_task"] } },
      limits: { askDeadlineMs: 30 },
    });
    expect(after).toMatchObject({
      state: "closed failed exit_rule_unmet",
      told: { status: "failed", closeReason: "exit_rule_unmet" },
      left: nothing,
    });
    const told = [...turn, "interjected"];
    expect(after.events).toEqual(
      life(...told, ...told, ...told, ...turn, "asked", "answered", "failed"),
    );
  });

  it("provider fault: usage that is missing is the worst case that can be", async () => {
    const after = await desk.meet(model, [say(model, { text: "All is well.", usage: false })]);
    expect(after).toMatchObject({ ...completed, events: life(...turn, ...done) });
    expect(after.told.tokenUsage?.prompt).toBeGreaterThan(500);
    expect(after.told.tokenUsage?.completion).toBeGreaterThanOrEqual("All is well.".length);
  });
});

/** Answers that only this protocol can give. */
const chat = "openai-chat/gpt-4.1";
const base = { id: "c", created: 1, model: "gpt-4.1", object: "chat.completion.chunk" };
const counts = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  ...base,
  choices: [{ index: 0, delta, finish_reason }],
});
const spoken = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const usage = (given: object = counts): object => ({ ...base, choices: [], usage: given });
const calling = (...calls: readonly object[]): Answer =>
  send(
    spoken(
      chunk({ tool_calls: calls.map((call, index) => ({ index, type: "function", ...call })) }),
      chunk({}, "tool_calls"),
      usage(),
    ),
  );
const grep = (pattern: string): object => ({
  name: "grep",
  arguments: JSON.stringify({ pattern }),
});

describe("a server that speaks the chat protocol", () => {
  const fine = say(chat, { text: "All is well." });
  const calls = (count: number): readonly string[] => [
    ...Array(count).fill("tool_started"),
    ...Array(count).fill("tool_completed"),
  ];

  it("provider fault: parallel calls with the same id are both made, and told apart", async () => {
    const twins = calling({ id: "a", function: grep("1") }, { id: "a", function: grep("2") });
    const after = await desk.meet(chat, [twins, fine]);
    expect(after).toMatchObject({
      ...completed,
      events: life(...turn, ...calls(2), ...turn, ...done),
    });
    expect(desk.searches).toBe(2);
    const sent = JSON.parse(desk.bodies.at(-1) ?? "") as { messages: { tool_call_id?: string }[] };
    const ids = sent.messages.flatMap(({ tool_call_id: id }) => id ?? []);
    expect(new Set(ids).size).toBe(2);
  });

  it("provider fault: a call without an id gets one, and one without a name is none", async () => {
    expect(await desk.meet(chat, [calling({ function: grep("1") }), fine])).toMatchObject({
      ...completed,
      events: life(...turn, ...calls(1), ...turn, ...done),
    });
    const nameless = calling({ id: "a", function: { name: "", arguments: "{}" } });
    expect(await desk.meet(chat, [nameless, fine])).toMatchObject({
      ...completed,
      events: life(...turn, "interjected", ...turn, ...done),
    });
    expect(desk.searches).toBe(0);
  });

  it.each(["[1,2]", '"x"', '{"__proto__":{"a":1},"pattern":"y"}', '{"pattern":{}}'])(
    "provider fault: arguments %s are refused before anything begins",
    async (input) => {
      const after = await desk.meet(chat, [say(chat, { arguments: input }), fine]);
      expect(after).toMatchObject({
        ...completed,
        events: life(...turn, "tool_denied", ...turn, ...done),
      });
      expect(desk.searches).toBe(0);
    },
  );

  it("provider fault: a refusal by a filter is no success, however much of it was said", async () => {
    const events = [chunk({ role: "assistant", content: "I would" }), chunk({}, "content_filter")];
    expect(await desk.meet(chat, [send(spoken(...events, usage()))])).toMatchObject({
      state: "closed failed truncated",
      events: life(...turn, "failed"),
      told: { status: "failed", closeReason: "truncated" },
      left: nothing,
    });
  });

  it("provider fault: a refusal in place of content is an empty answer", async () => {
    const events = [chunk({ role: "assistant", refusal: "I cannot" }), chunk({}, "stop"), usage()];
    expect(await desk.meet(chat, [send(spoken(...events))])).toMatchObject({
      state: "closed failed empty_output",
      events: life(...turn, "interjected", ...turn, "failed"),
      told: { status: "failed", closeReason: "empty_output" },
      left: nothing,
    });
  });

  it("provider fault: empty choices are an empty answer", async () => {
    expect(await desk.meet(chat, [send(spoken(usage())), fine])).toMatchObject({
      ...completed,
      events: life(...turn, "interjected", ...turn, ...done),
    });
  });

  it("provider fault: a [DONE] in the middle of the answer is a cut stream", async () => {
    const body = `${spoken(chunk({ content: "half" }))}data: [DONE]\n\n`;
    expect(await desk.meet(chat, [send(body)])).toMatchObject({ ...unavailable, ...tries });
  });

  it.each<[string, string]>([
    ["a [DONE] and nothing else", "data: [DONE]\n\n"],
    ["choices that are no list", spoken({ ...base, choices: null })],
    [
      "usage that is no number",
      spoken(chunk({ content: "x" }, "stop"), usage({ prompt_tokens: "9" })),
    ],
  ])("provider fault: %s is unreadable, and asked once more", async (_name, body) => {
    expect(await desk.meet(chat, [send(body)])).toMatchObject({ ...unavailable, ...twice });
  });

  it("provider fault: a finish reason that nobody knows does not keep an answer from counting", async () => {
    const events = [chunk({ content: "All is well." }), chunk({}, "because"), usage()];
    expect(await desk.meet(chat, [send(spoken(...events))])).toMatchObject({
      ...completed,
      events: life(...turn, ...done),
    });
  });

  it.each<[string, object]>([
    ["negative", { prompt_tokens: -5, completion_tokens: -9 }],
    ["a fraction", { prompt_tokens: 9.5, completion_tokens: 1.5 }],
    ["too large to add up", { prompt_tokens: 2 ** 60, completion_tokens: 1 }],
  ])(
    "provider fault: usage that is %s is not believed, and takes no more than was reserved",
    async (_name, given) => {
      const events = [chunk({ content: "All is well." }), chunk({}, "stop"), usage(given)];
      const after = await desk.meet(chat, [send(spoken(...events))]);
      expect(after).toMatchObject({ ...completed, events: life(...turn, ...done) });
      const { completion = 0, prompt = 0 } = after.told.tokenUsage ?? {};
      expect(prompt).toBeGreaterThan(500);
      expect(completion).toBeGreaterThanOrEqual("All is well.".length);
      expect(completion).toBeLessThanOrEqual(8192);
    },
  );

  it("provider fault: another model than the pinned one is a mismatch", async () => {
    const other = (event: object): object => ({ ...event, model: "gpt-cheap" });
    const events = [chunk({ content: "All is well." }), chunk({}, "stop"), usage()].map(other);
    expect(await desk.meet(chat, [send(spoken(...events))])).toMatchObject({
      state: "closed failed model_mismatch",
      events: life(...turn, "failed"),
      told: { status: "failed", closeReason: "model_mismatch" },
      left: nothing,
    });
  });

  it("provider fault: an answer without streaming, where one was asked for, is asked once more", async () => {
    const message = { role: "assistant", content: "hi" };
    const whole = {
      ...base,
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: counts,
    };
    const answer = send(JSON.stringify(whole), { type: "application/json" });
    expect(await desk.meet(chat, [answer])).toMatchObject({ ...unavailable, ...twice });
  });

  it.each<[string, string, RegExp]>([
    [
      "of words",
      spoken(chunk({ content: "word ".repeat(3000) })),
      /did not stop at the 8192 tokens/,
    ],
    [
      "of arguments",
      spoken(chunk({ tool_calls: [{ index: 0, id: "a", function: grep("x".repeat(9000)) }] })),
      /did not stop at the 8192 tokens/,
    ],
    ["of one line", "x".repeat(65_536), /more than 64 MB in one answer/],
    ["of comments", ": ping\n\n".repeat(8000), /more than 64 MB in one answer/],
  ])("provider fault: a stream without end %s is ended", async (_name, piece, reason) => {
    const after = await desk.meet(chat, [flood(piece)], { limits: { requestTries: 1 } });
    expect(after).toMatchObject({ ...unavailable, events: life(...lostRequest, "failed") });
    expect(after.told.result).toMatch(reason);
    expect(desk.searches).toBe(0);
  });

  it("provider fault: a small answer that unfolds to a large one is ended", async () => {
    const bomb = gzipSync("x".repeat(80 * 1024 * 1024));
    const answer: Answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
      response.end(bomb);
    };
    const after = await desk.meet(chat, [answer], { limits: { requestTries: 1 } });
    expect(after).toMatchObject({ ...unavailable, events: life(...lostRequest, "failed") });
    expect(after.told.result).toMatch(/more than 64 MB in one answer/);
  });
});

describe("a model that invents", () => {
  it("provider fault: fake ids name nobody's job, and nothing is waited for", async () => {
    const input = JSON.stringify({ job_ids: "ffffff" });
    const wait = calling({ id: "a", function: { name: "spawn_await", arguments: input } });
    const after = await desk.meet(chat, [wait, say(chat, { text: "so be it" })], {
      child: { tools: ["spawn", "spawn_await"] },
    });
    expect(after).toMatchObject({
      ...completed,
      events: life(...turn, "tool_started", "tool_completed", ...turn, ...done),
      told: { result: "so be it" },
    });
    const sent = JSON.parse(desk.bodies.at(-1) ?? "") as { messages: { content: string }[] };
    expect(sent.messages.at(-1)?.content).toContain("ffffff");
  });
});
