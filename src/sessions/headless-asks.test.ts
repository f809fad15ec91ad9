import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { ofType, openEngine, type Script, testProfile } from "../testing/index.ts";
import { Inbox } from "./inbox.ts";

/** The bar is a hundred; ten are enough to see that nothing broke. */
const rounds = cases(200, 10);

const askDeadlineMs = 50;

const profiles = [testProfile("agent", { tools: ["delegate_task", "ask_user"] })];

/** Delegates down to depth four, where somebody asks and repeats what it was told. */
const model: Script = ({ caller, messages }) => {
  if (caller.turn > 1) {
    const last = messages.at(-1)?.text ?? "";
    return caller.depth === 4 ? `told: ${last}` : JSON.parse(last).result;
  }
  return caller.depth === 4
    ? { calls: [{ tool: "ask_user", input: { message: "Blue or green?" } }] }
    : { calls: [{ tool: "delegate_task", input: { profile: "agent", task: "deeper" } }] };
};

describe("a question from depth four, with nobody there", () => {
  it.each([
    ["is answered by policy", "blue", /^told: No answer came in time; the default is: blue/],
    ["expires", null, /^told: Error: no answer came in time/],
  ])(`%s, in ${rounds} of ${rounds} runs`, async (_what, askDefault, told) => {
    const limits = { askDeadlineMs, askDefault, maxDepth: 4 };
    await using mandate = await openEngine({ profiles, model, limits });
    const inbox = new Inbox(mandate.store);
    const runs = await Promise.all(
      Array.from({ length: rounds }, () => mandate.run({ task: "go", profile: "agent" })),
    );
    for (const { events, result, runId } of runs) {
      expect(result).toMatchObject({ status: "completed", result: expect.stringMatching(told) });
      const [asked] = ofType(events, "agent.asked");
      const [answered] = ofType(events, "agent.answered");
      const state = await mandate.store.readRun(runId);
      expect(state?.delegations.get(asked?.sub_agent_id ?? "")?.depth).toBe(4);
      const late = (answered?.at ?? Number.NaN) - (asked?.payload.deadline_at ?? 0);
      // Timers count whole milliseconds and may be one early.
      expect(late).toBeGreaterThanOrEqual(-2);
      expect(answered?.payload).toMatchObject({
        answer: askDefault,
        by: askDefault === null ? "expired" : "default",
      });
    }
    expect(await inbox.open()).toEqual([]);
    const asks = await inbox.read({ kinds: ["ask"], limit: 1000 });
    expect(asks).toHaveLength(rounds);
    const [ask] = asks;
    await expect(inbox.answer(ask?.ask?.id ?? "", "green")).rejects.toMatchObject({
      code: "ask-closed",
    });
  });
});
