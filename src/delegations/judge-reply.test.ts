import { describe, expect, it } from "vitest";
import type { EventPayloads, NewEvent } from "../events/event.ts";
import { Transcript } from "../sessions/transcript.ts";
import { exampleContract } from "../testing/example-contract.ts";
import { judgeReply } from "./next.ts";

type Turn = EventPayloads["agent.model_turn"];

/** So often the same call may be made in a row, and not once more. */
const repeatLimit = 5;

const contract = exampleContract();
const withExit = exampleContract({ exit: { ...contract.exit, tools: ["complete_task"] } });

function turn(fields: Partial<Turn> = {}): Turn {
  return {
    requested: "scripted/test",
    served: "scripted/test",
    usage: { prompt: 1, completion: 1, cost: 0 },
    finish_reason: "stop",
    ...fields,
  };
}

const calling = (name: string, input: unknown = {}, id = "c"): Partial<Turn> => ({
  calls: [{ id, name, input }],
  finish_reason: "tool-calls",
});

const nudged: NewEvent = {
  type: "agent.interjected",
  payload: { from: "runtime", severity: "warn", message: "go on" },
};

/** The verdict on the last of these, after the events that would stand between them. */
function verdictOn(turns: readonly Turn[], under = contract, between: readonly NewEvent[] = []) {
  const transcript = new Transcript("task");
  for (const [index, payload] of turns.entries()) {
    if (index > 0) for (const event of between) transcript.apply(event);
    transcript.apply({ type: "agent.model_turn", payload });
  }
  return judgeReply(turns.at(-1) ?? turn(), under, transcript);
}

describe("a reply", () => {
  it("with calls is acted upon, and with text alone is the output", () => {
    expect(verdictOn([turn(calling("read_file"))])).toEqual({ kind: "act" });
    expect(verdictOn([turn({ text: "so be it" })])).toEqual({ kind: "output", text: "so be it" });
    expect(verdictOn([turn({ text: "first", ...calling("grep") })])).toEqual({ kind: "act" });
  });

  it("of another model than the pinned one fails, whatever it says", () => {
    for (const fields of [{ text: "x" }, calling("read_file"), {}]) {
      const verdict = verdictOn([turn({ ...fields, served: "other/model" })]);
      expect(verdict).toMatchObject({
        kind: "fail",
        cause: { code: "model_mismatch" },
        retry: false,
      });
    }
    expect(verdictOn([turn({ text: "x", served: null })])).toMatchObject({ kind: "output" });
  });

  it("that a filter ended is no output, however whole it looks, and none of its calls is made", () => {
    const filtered = { finish_reason: "content-filter" };
    for (const fields of [{ text: "x" }, { ...calling("read_file") }, {}]) {
      const verdict = verdictOn([turn({ ...fields, ...filtered })]);
      expect(verdict).toMatchObject({
        kind: "fail",
        cause: { code: "answer_filtered" },
        retry: true,
      });
    }
    const last = turn({ text: "the best so far", ...filtered, last: true });
    expect(verdictOn([last])).toEqual({ kind: "output", text: "the best so far" });
  });

  it("that is empty is asked for once more, then fails", () => {
    expect(verdictOn([turn()])).toMatchObject({ kind: "say" });
    expect(verdictOn([turn(), turn()], contract, [nudged])).toMatchObject({
      kind: "fail",
      cause: { code: "answer_empty" },
      retry: true,
    });
    const recovered = [turn(), turn({ text: "now" })];
    expect(verdictOn(recovered, contract, [nudged])).toEqual({ kind: "output", text: "now" });
  });

  it("that was cut is asked for once more, then fails, and its calls are never made", () => {
    const cut = { finish_reason: "length" };
    for (const fields of [{ text: "half a sen" }, { ...calling("write_file") }]) {
      const half = turn({ ...fields, ...cut });
      expect(verdictOn([half])).toMatchObject({ kind: "say" });
      expect(verdictOn([half, half], contract, [nudged])).toMatchObject({
        kind: "fail",
        cause: { code: "answer_cut" },
        retry: true,
      });
    }
  });

  it("that repeats the same call too often makes no progress", () => {
    const same = Array.from({ length: repeatLimit }, (_, index) =>
      turn(calling("read_file", { path: "a" }, `c${index}`)),
    );
    const answered = (id: string): NewEvent => ({
      type: "agent.tool_completed",
      payload: { call_id: id, tool: "read_file", output: "" },
    });
    const results = same.map((_, index) => answered(`c${index}`));
    expect(verdictOn(same, contract, results)).toMatchObject({
      kind: "fail",
      cause: { code: "same_call" },
    });
    expect(verdictOn(same.slice(1), contract, results)).toEqual({ kind: "act" });
    const varied = same.map((_, index) => turn(calling("read_file", { path: index }, `c${index}`)));
    expect(verdictOn(varied, contract, results)).toEqual({ kind: "act" });
    const polls = same.map(
      (_, index): NewEvent => ({
        type: "agent.tool_started",
        payload: { call_id: `c${index}`, tool: "read_file", changes: "none", polls: "state" },
      }),
    );
    expect(verdictOn(same, contract, [...polls, ...results])).toEqual({ kind: "act" });
  });

  it("without the exit tool that the contract asks for is not an end", () => {
    const text = turn({ text: "I am done" });
    expect(verdictOn([text], withExit)).toMatchObject({ kind: "say" });
    expect(verdictOn([text, text, text, text], withExit, [nudged])).toMatchObject({
      kind: "ask",
      question: expect.stringContaining("complete_task"),
    });
  });

  it("is the best there is when it is the last the budget allows", () => {
    const last = turn({ text: "as far as I got", last: true });
    const output = { kind: "output", text: "as far as I got" };
    expect(verdictOn([last], withExit)).toEqual(output);
    expect(verdictOn([{ ...last, finish_reason: "length" }])).toEqual(output);
  });
});
