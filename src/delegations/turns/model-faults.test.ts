import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

let ticks = 0;
const tick = defineTool({
  name: "tick",
  description: "Counts.",
  effect: "exec",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ note: z.string().optional() }),
  execute() {
    ticks += 1;
    return "same as ever";
  },
});

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["tick"] } }),
  testProfile("worker", { tools: ["tick"] }),
];

/** A lead with one child that gives these answers, one a turn, the last one from then on. */
async function childThat(replies: readonly ScriptedReply[] | Script, options: EngineOptions = {}) {
  ticks = 0;
  const child: Script =
    typeof replies === "function"
      ? replies
      : ({ caller }) => replies[Math.min(caller.turn, replies.length) - 1] ?? "";
  const { seen, model } = recording((request) => {
    if (request.caller.depth === 1) return child(request);
    if (request.caller.turn > 1) return "noted";
    return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "work" } }] };
  });
  await using mandate = await openEngine({
    profiles,
    tools: [tick],
    model,
    ...options,
    limits: { maxRetries: 0, ...options.limits },
  });
  const { result, events } = await mandate.run({ task: "go", profile: "lead" });
  const shown = JSON.parse(seen.at(-1)?.messages.at(-1)?.text ?? "{}");
  const requests = seen.filter(({ caller }) => caller.depth === 1);
  const id = result.subDelegations?.[0]?.delegationId;
  expect(ofType(events, "agent.subagent_closed", id)).toHaveLength(1);
  expect(ofType(events, "agent.tool_completed", result.delegationId)).toHaveLength(1);
  return { child: result.subDelegations?.[0], shown, events, requests, id };
}

const call = (note?: string): ScriptedReply => ({ calls: [{ tool: "tick", input: { note } }] });

describe("fault 9: a malformed or unknown call", () => {
  it("is an error result that the model can mend", async () => {
    const { child, requests } = await childThat([
      { fault: "malformed-call" },
      { fault: "unknown-tool" },
      call("mended"),
      { text: "mended" },
    ]);
    expect(child).toMatchObject({ status: "completed", result: "mended" });
    expect(ticks).toBe(1);
    const errors = requests.at(-1)?.messages.filter((each) => each.role === "tool" && each.isError);
    expect(errors).toHaveLength(2);
  });

  it.each(["malformed-call", "unknown-tool"] as const)(
    "%s five times in a row fails it as invalid model output",
    async (fault) => {
      const { child, shown, requests, events, id } = await childThat([{ fault }]);
      expect(shown).toMatchObject({ status: "failed", closeReason: "invalid_model_output" });
      expect(child?.closeReason).toBe("invalid_model_output");
      expect(requests).toHaveLength(5);
      expect(ticks).toBe(0);
      expect(ofType(events, "agent.tool_started", id)).toEqual([]);
    },
  );

  it("several in one turn count one by one", async () => {
    const calls = Array.from({ length: 5 }, (_, index) => ({ tool: `nothing_${index}` }));
    const { child, requests } = await childThat([{ calls }]);
    expect(child?.closeReason).toBe("invalid_model_output");
    expect(requests).toHaveLength(1);
  });
});

describe("fault 10: an empty answer", () => {
  const empty: ScriptedReply = { fault: "empty" };

  it("is not a success: the model is asked to go on, once", async () => {
    const { child, requests } = await childThat([empty, { text: "there" }]);
    expect(child).toMatchObject({ status: "completed", result: "there" });
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: "user" });
  });

  it("twice in a row is a failure with that reason", async () => {
    const { child, shown, requests } = await childThat([empty]);
    expect(shown).toMatchObject({ status: "failed", closeReason: "empty_output" });
    expect(child?.status).toBe("failed");
    expect(requests).toHaveLength(2);
  });

  it("and later an answer that was cut are two different things, each asked for once more", async () => {
    const { child } = await childThat([
      empty,
      { text: "the begin", fault: "length" },
      { text: "short" },
    ]);
    expect(child).toMatchObject({ status: "completed", result: "short" });
  });

  it("twice, but not in a row, is no failure", async () => {
    const { child } = await childThat([empty, call("a"), empty, call("b"), { text: "done" }]);
    expect(child).toMatchObject({ status: "completed", result: "done" });
  });
});

describe("fault 10: an answer that the provider cut", () => {
  const cut: ScriptedReply = { text: "the beginning of", fault: "length" };

  it("is not taken for the result", async () => {
    const { child } = await childThat([cut, { text: "the whole" }]);
    expect(child).toMatchObject({ status: "completed", result: "the whole" });
    expect(child).not.toHaveProperty("truncated");
  });

  it("twice is a failure with that reason", async () => {
    const { shown, requests } = await childThat([cut]);
    expect(shown).toMatchObject({ status: "failed", closeReason: "truncated" });
    expect(requests).toHaveLength(2);
  });

  it("makes none of its calls: the last one may be half of one", async () => {
    const { child, events, id } = await childThat([
      { ...call("cut"), finish: "length" },
      { text: "done" },
    ]);
    expect(ticks).toBe(0);
    expect(child?.status).toBe("completed");
    expect(ofType(events, "agent.tool_denied", id)[0]?.payload.rule).toBe("answer_cut");
  });

  it("with many calls in it does not count as refusals by the contract", async () => {
    const calls = Array.from({ length: 6 }, (_, index) => ({
      tool: "tick",
      input: { note: `${index}` },
    }));
    const { child } = await childThat([
      { calls, finish: "length" },
      { fault: "unknown-tool" },
      { text: "done" },
    ]);
    expect(child).toMatchObject({ status: "completed", result: "done" });
  });
});

describe("fault 11: the same call again and again", () => {
  it("is stopped before it is made the fifth time, for lack of progress", async () => {
    const { child, shown, requests } = await childThat([call("x")]);
    expect(shown).toMatchObject({ status: "failed", closeReason: "no_progress" });
    expect(child?.result).toMatch(/the same call 5 times in a row/);
    expect(ticks).toBe(4);
    expect(requests).toHaveLength(5);
  });

  it("is no loop when the input differs, or another call comes between", async () => {
    const notes = ["a", "a", "a", "a", "b", "a", "a", "a", "a"];
    const { child } = await childThat([...notes.map((note) => call(note)), { text: "done" }]);
    expect(child?.status).toBe("completed");
    expect(ticks).toBe(notes.length);
  });

  it("counts as the same whatever words come with it", async () => {
    const { child } = await childThat(({ caller }) => ({
      ...call("x"),
      text: `try ${caller.turn}`,
    }));
    expect(child?.closeReason).toBe("no_progress");
  });

  it("is no loop when it is how one waits for children", async () => {
    const wait = { calls: [{ tool: "spawn_await", input: { job_ids: "*", max_wait_ms: 3 } }] };
    const enough = Promise.withResolvers<void>();
    await using mandate = await openEngine({
      profiles: [
        testProfile("lead", { tools: ["spawn", "spawn_await"] }),
        testProfile("slow", { tools: [] }),
      ],
      model: async ({ caller, messages }) => {
        if (caller.depth > 0) {
          await enough.promise;
          return "at last";
        }
        if (caller.turn === 8) enough.resolve();
        if (caller.turn === 1)
          return { calls: [{ tool: "spawn", input: { task: "x", profile: "slow" } }] };
        const { text = "" } = messages.at(-1) ?? {};
        return text.includes("OK") ? text : wait;
      },
    });
    const { result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result.status).toBe("completed");
    expect(result.evidence.turns).toBeGreaterThan(6);
  });
});

describe("another model than the pinned one", () => {
  it("is a failure, even if its answer looks right", async () => {
    const { child, shown } = await childThat([{ text: "looks right", served: "cheaper-model" }]);
    expect(shown).toMatchObject({ status: "failed", closeReason: "model_mismatch" });
    expect(child?.evidence.served).toEqual(["cheaper-model"]);
  });

  it("makes no call", async () => {
    await childThat([{ ...call("x"), served: "cheaper-model" }]);
    expect(ticks).toBe(0);
  });

  it("is not what a dated snapshot of it is", async () => {
    const { child } = await childThat([{ text: "fine", served: "playbook-2026-01-31" }]);
    expect(child?.status).toBe("completed");
  });
});

describe("calls with ids that were used before", () => {
  const again = (note: string): ScriptedReply => ({
    calls: [{ tool: "tick", id: "call_a", input: { note } }],
  });

  it("in one turn are told apart", async () => {
    const { child, requests } = await childThat([
      {
        calls: [
          { tool: "tick", id: "call_a", input: { note: "1" } },
          { tool: "tick", id: "call_a" },
        ],
      },
      { text: "done" },
    ]);
    expect(child?.status).toBe("completed");
    expect(ticks).toBe(2);
    const ids = requests[1]?.messages.flatMap((each) => (each.role === "tool" ? each.callId : []));
    expect(new Set(ids).size).toBe(2);
  });

  // take-turn.ts, withUniqueIds: looks at one turn only. After a crash `byCall` finds the wrong child.
  it("in a later turn are told apart in the log", async () => {
    const { child, events, id } = await childThat([again("1"), again("2"), { text: "done" }]);
    expect(child?.status).toBe("completed");
    expect(ticks).toBe(2);
    const started = ofType(events, "agent.tool_started", id).map(({ payload }) => payload.call_id);
    expect(new Set(started).size).toBe(2);
  });
});
