import { describe, expect, it } from "vitest";
import type { NewEvent, Polls, RecordedCall } from "../events/event.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import type { Message } from "../ports/model.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { Transcript } from "./transcript.ts";

function turn(text: string, ...calls: readonly RecordedCall[]): NewEvent {
  return {
    type: "agent.model_turn",
    payload: {
      requested: "m/m",
      served: null,
      usage: { prompt: 10, completion: 5, cost: 0 },
      finish_reason: calls.length > 0 ? "tool-calls" : "stop",
      ...(text === "" ? {} : { text }),
      ...(calls.length === 0 ? {} : { calls }),
    },
  };
}

const call = (id: string, name = "read_file", input: unknown = {}): RecordedCall => ({
  id,
  name,
  input,
});
const done = (id: string, output = `result of ${id}`): NewEvent => ({
  type: "agent.tool_completed",
  payload: { call_id: id, tool: "read_file", output },
});
const begun = (id: string, polls?: Polls): NewEvent => ({
  type: "agent.tool_started",
  payload: { call_id: id, tool: "read_file", changes: "none", ...(polls && { polls }) },
});
const attempt: NewEvent = { type: "agent.subagent_attempt", payload: { attempt: 2, of: 2 } };

function transcriptOf(...events: readonly NewEvent[]): Transcript {
  const transcript = new Transcript("Task:\nx");
  for (const event of events) transcript.apply(event);
  return transcript;
}

const textsOf = ({ messages }: Transcript): string[] => messages.map(({ text }) => text);

describe("a conversation", () => {
  it("counts what a watcher says while a request is under way, since the provider did not", () => {
    const reserved: NewEvent = {
      type: "agent.budget_reserved",
      payload: { request: 1, tokens: 9 },
    };
    const remark = (from: string): NewEvent => ({
      type: "agent.interjected",
      payload: { from, severity: "warn", message: "w".repeat(900) },
    });
    expect(transcriptOf(remark("watcher:w"), reserved, turn("a")).bytesSince).toBe(0);
    const meanwhile = transcriptOf(reserved, remark("watcher:w"), turn("a"));
    expect(meanwhile.bytesSince).toBeGreaterThan(900);
    meanwhile.apply(reserved);
    meanwhile.apply(turn("b"));
    expect(meanwhile.bytesSince).toBe(0);
  });

  it("is judged whatever a watcher or a server says in that moment", () => {
    const said = (from: string): NewEvent => ({
      type: "agent.interjected",
      payload: { from, severity: "warn", message: "m" },
    });
    for (const from of ["watcher:w", "mcp"]) {
      expect(transcriptOf(turn("a"), said(from)).unjudged).not.toBeNull();
    }
    for (const from of ["runtime", "repair", "person"]) {
      expect(transcriptOf(turn("a"), said(from)).unjudged).toBeNull();
    }
  });

  it("gets results in the order of the calls, once all are there", () => {
    const calls = turn("look", call("a"), call("b"), call("c"));
    const waiting = transcriptOf(calls, done("c"), done("a"));
    expect(textsOf(waiting)).toEqual(["Task:\nx", "look"]);
    expect(waiting.pending).toHaveLength(3);
    waiting.apply(done("b"));
    expect(textsOf(waiting).slice(2)).toEqual(["result of a", "result of b", "result of c"]);
    expect(waiting.pending).toEqual([]);
  });

  it("takes one result for a call, and none for a call that nobody made", () => {
    const transcript = transcriptOf(turn("", call("a"), call("b")), done("a", "first"));
    transcript.apply(done("a", "second"));
    transcript.apply(done("ghost"));
    transcript.apply(done("b"));
    transcript.apply(done("b", "again"));
    expect(textsOf(transcript).slice(2)).toEqual(["first", "result of b"]);
  });

  it("is shortened as its event says, and as the first version did where the event does not say", () => {
    const long = "x".repeat(900);
    const before = ["a", "b", "c", "d"].flatMap((id) => [turn("look", call(id)), done(id, long)]);
    const lengths = (shortening?: { keep: number; old: number }): number[] => {
      const payload = { before_messages: 9, ...(shortening && { shortening }) };
      const short = transcriptOf(...before, { type: "agent.compacted", payload });
      expect(short).toMatchObject({ countedTokens: null, compactions: 1 });
      expect(short.bytesSince).toBe(short.bytes);
      return short.messages.flatMap(({ role, text }) => (role === "tool" ? text.length : []));
    };
    const stub = "\n[… shortened to save space; call the tool again if it is needed]".length;
    expect(lengths()).toEqual([200 + stub, 900, 900, 900]);
    const [first = 0, ...others] = lengths({ keep: 1, old: 100 });
    expect(first).toBeLessThan(200);
    expect(others).toEqual([first, first, 900]);
  });

  it("has no empty messages, which providers refuse", () => {
    const transcript = transcriptOf(turn(""), turn(""));
    expect(textsOf(transcript)).toEqual(["Task:\nx"]);
    expect(transcript).toMatchObject({ emptyTurns: 2, turns: 2 });
  });

  it("starts over with a new attempt, and keeps the best text so far", () => {
    const transcript = transcriptOf(turn("half", call("a")), done("a"), turn("better"), attempt);
    expect(textsOf(transcript)).toEqual(["Task:\nx"]);
    expect(transcript).toMatchObject({
      turns: 0,
      countedTokens: null,
      bestText: "better",
      repeats: 0,
    });
  });

  it("counts the same call in a row, unless calling it again is how one waits", () => {
    const repeatsAfter = (polls?: Polls): number => {
      const transcript = new Transcript("Task:\nx");
      for (const id of ["a", "b", "c"]) {
        for (const event of [turn("", call(id)), begun(id, polls), done(id)])
          transcript.apply(event);
      }
      transcript.apply(turn("", call("d")));
      return transcript.repeats;
    };
    expect([repeatsAfter(), repeatsAfter("state"), repeatsAfter("results")]).toEqual([4, 1, 1]);
  });

  it("counts bytes since the provider last counted", () => {
    const transcript = transcriptOf(turn("", call("a")));
    expect(transcript).toMatchObject({ countedTokens: 15, bytesSince: 0 });
    transcript.apply(done("a", "ä".repeat(100)));
    expect(transcript.bytesSince).toBeGreaterThanOrEqual(200);
    expect(transcriptOf().bytesSince).toBeGreaterThanOrEqual("Task:\nx".length);
  });

  it("keeps call ids apart that a provider gave twice, over all attempts", () => {
    const transcript = transcriptOf(turn("", call("a")), done("a"), attempt);
    const calls = transcript.withUniqueIds([call("a"), call("a"), call("b")]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    expect(calls.map(({ id }) => id)).not.toContain("a");
    expect(calls[2]?.id).toBe("b");
  });

  it("opens another one without a call that has no result", () => {
    const opening = transcriptOf(turn("", call("a"), call("b")), begun("b"), done("a")).asOpening();
    const results = opening.filter(
      (message): message is Extract<Message, { role: "tool" }> => message.role === "tool",
    );
    expect(results.map(({ callId, isError }) => [callId, isError])).toEqual([
      ["a", false],
      ["b", true],
    ]);
    expect(opening.at(-1)).toMatchObject({ role: "user" });
    expect(new Transcript(opening).messages).toEqual(opening);
  });

  it("knows which turn nothing has followed from yet", () => {
    const calls = turn("", call("a"));
    expect(transcriptOf(calls).unjudged).toBe(calls.payload);
    expect(transcriptOf(calls, begun("a")).unjudged).toBeNull();
    expect(transcriptOf(turn("done")).unjudged).not.toBeNull();
    expect(transcriptOf(turn("done"), attempt).unjudged).toBeNull();
  });

  it("counts refusals and mistakes in a row, by what they were", () => {
    const denied = (rule: string): NewEvent => ({
      type: "agent.tool_denied",
      payload: { call_id: "x", tool: "t", rule, error: "no" },
    });
    expect(transcriptOf(denied("tool_not_granted"), denied("unknown_tool"))).toMatchObject({
      deniedStreak: 1,
      invalidStreak: 1,
    });
    expect(transcriptOf(denied("tool_not_granted"), done("y"))).toMatchObject({ deniedStreak: 0 });
  });
});

describe("the log", () => {
  it("rebuilds every conversation as the model was shown it", async () => {
    const script: Script = ({ caller }) => {
      const { attempt: tries, profile, turn: number } = caller;
      if (profile === "flaky" && tries === 1) return number === 1 ? "half " : { fault: "empty" };
      if (profile === "flaky")
        return { text: "", calls: [{ tool: "complete_task", input: { summary: "ok" } }] };
      if (number === 1)
        return {
          text: "all at once ".repeat(99),
          calls: [{ tool: "list_files" }, { tool: "shell" }],
        };
      if (number === 2)
        return caller.try === 1 ? { fault: "context-overflow" } : { fault: "unknown-tool" };
      if (number === 3) return { fault: "empty" };
      if (number === 4) return { text: "cut", finish: "length" };
      if (number === 5)
        return { calls: [{ tool: "delegate_task", input: { profile: "flaky", task: "t" } }] };
      return "done";
    };
    const { seen, model } = recording(script);
    await using mandate = await openEngine({
      profiles: [
        testProfile("lead", { tools: ["delegate_task", "list_files", "complete_task"] }),
        testProfile("flaky", { tools: ["complete_task"], exit: { tools: ["complete_task"] } }),
      ],
      model,
    });
    const { workspace } = mandate;
    const { events, result } = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(result.status).toBe("completed");
    let compared = 0;
    for (const { sub_agent_id: id = "" } of ofType(events, "agent.subagent_created")) {
      const shown = seen.filter(({ caller }) => caller.delegationId === id);
      const transcript = new Transcript(shown[0]?.messages[0]?.text ?? "");
      for (const event of events.filter((each) => each.sub_agent_id === id)) {
        if (event.type === "agent.budget_reserved") {
          expect(transcript.messages).toEqual(shown[event.payload.request - 1]?.messages);
          compared++;
        }
        transcript.apply(event);
      }
    }
    expect(compared).toBe(seen.length);
    expect(compared).toBeGreaterThan(9);
  });
});
