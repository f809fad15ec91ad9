/** Faults of what a model says, and of how long it says it: state, log, the parent's view, remains. */

import { expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import { defineTool } from "../../tools/tool.ts";
import { ofType } from "../engine-fixture.ts";
import { HeldClock } from "../held-clock.test-support.ts";
import { until } from "../until.ts";
import { nothing } from "./aftermath.test-support.ts";
import { life, meetFault, turn } from "./fault-scene.test-support.ts";

let ticks = 0;
let ended = 0;
let clock = new HeldClock();
let mayEnd = Promise.withResolvers<void>();
const tick = defineTool({
  name: "tick",
  description: "Counts.",
  effect: "exec",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ note: z.string().optional(), lingers: z.boolean().default(false) }),
  async execute({ lingers }) {
    ticks += 1;
    if (lingers) {
      // Deaf to its signal, as somebody's own tool may be.
      clock.pass(100);
      await mayEnd.promise;
    }
    ended += 1;
    return "ticked";
  },
});

const tools = [tick];
const call = (input: object = {}): ScriptedReply => ({ calls: [{ tool: "tick", input }] });
const made = ["tool_started", "tool_completed"];

it.each(["malformed-call", "unknown-tool"] as const)(
  "fault 9: a %s is told to the model five times in a row, then its delegation fails",
  async (fault) => {
    ticks = 0;
    const after = await meetFault({ tools, answers: [{ fault }] });
    const refused = [...turn, "tool_denied"];
    expect(after).toMatchObject({
      state: "closed failed invalid_model_output",
      events: life(...Array(5).fill(refused).flat(), "failed"),
      told: { status: "failed", closeReason: "invalid_model_output", evidence: { tool_calls: 0 } },
      left: nothing,
    });
    expect(ticks).toBe(0);
    expect(
      after.asked[4]?.messages.filter((one) => one.role === "tool" && one.isError),
    ).toHaveLength(4);
  },
);

it("fault 10: an empty answer is asked for once more, and is no success", async () => {
  expect(await meetFault({ answers: [{ fault: "empty" }] })).toMatchObject({
    state: "closed failed empty_output",
    events: life(...turn, "interjected", ...turn, "failed"),
    told: { status: "failed", closeReason: "empty_output" },
    left: nothing,
  });
});

it("fault 10: an answer that was cut for its length is asked for once more, and is no success", async () => {
  const answers = [{ text: "the beginning of", fault: "length" as const }];
  expect(await meetFault({ answers })).toMatchObject({
    state: "closed failed truncated",
    events: life(...turn, "interjected", ...turn, "failed"),
    told: { status: "failed", closeReason: "truncated" },
    left: nothing,
  });
});

it("fault 11: the same call is made four times, and stopped before the fifth", async () => {
  ticks = 0;
  expect(await meetFault({ tools, answers: [call({ note: "x" })] })).toMatchObject({
    state: "closed failed no_progress",
    events: life(
      ...Array(4)
        .fill([...turn, ...made])
        .flat(),
      ...turn,
      "failed",
    ),
    told: { status: "failed", closeReason: "no_progress", evidence: { tool_calls: 4 } },
    left: nothing,
  });
  expect(ticks).toBe(4);
});

it("fault 13: a budget that is nearly spent ends with one last turn and the best result", async () => {
  const budget = 6000;
  const after = await meetFault({
    tools,
    child: { limits: { tokens: budget } },
    limits: { maxOutputTokens: 400 },
    answers({ caller, tools: offered }) {
      const usage = { prompt: 300 * caller.turn, completion: 100 };
      if (offered.length === 0) return { text: "the best so far", usage };
      return { ...call({ note: `${caller.turn}` }), usage };
    },
  });
  const last = ["waiting_for_merge", "completed"];
  const { used, turns } = spent(after.log, after.child);
  expect(after).toMatchObject({
    state: "closed completed budget_exhausted",
    events: life(
      ...Array(turns - 1)
        .fill([...turn, ...made])
        .flat(),
      ...turn,
      ...last,
    ),
    told: {
      status: "completed",
      truncated: true,
      closeReason: "budget_exhausted",
      result: "the best so far",
    },
    left: nothing,
  });
  expect(used).toBeLessThanOrEqual(budget);
  expect(ofType(after.log, "agent.model_turn", after.child).at(-1)?.payload.last).toBe(true);
});

function spent(log: Parameters<typeof ofType>[0], id: string) {
  const settled = ofType(log, "agent.budget_settled", id).map(({ payload }) => payload);
  const used = settled.reduce((sum, { completion, prompt }) => sum + prompt + completion, 0);
  return { used, turns: settled.length };
}

it("fault 14: a tool that ignores its signal does not outlast the deadline; its late result is noted", async () => {
  ticks = 0;
  ended = 0;
  clock = new HeldClock();
  mayEnd = Promise.withResolvers();
  const after = await meetFault({
    clock,
    tools,
    child: { limits: { timeoutMs: 60 } },
    answers: [call({ lingers: true })],
    async before() {
      expect(ended).toBe(0);
      mayEnd.resolve();
      await until("the late result", () => ended > 0);
    },
  });
  expect(after).toMatchObject({
    state: "closed failed timeout",
    events: life(...turn, "tool_started", "tool_outcome_unknown", "failed"),
    ofRun: ["run.started", "run.late_result", "run.finished"],
    told: { status: "timeout", closeReason: "timeout", result: "It took longer than 60 ms." },
    left: nothing,
  });
  expect(ticks).toBe(1);
});
