/** Faults between us and a provider, by its real client: state, log, the parent's view, remains. */
import { describe, expect, it } from "vitest";
import { ofType } from "../engine-fixture.ts";
import { nothing } from "./aftermath.test-support.ts";
import { life, lostRequest, turn } from "./fault-scene.test-support.ts";
import { models, openProviderDesk, refuse, say } from "./provider-scene.test-support.ts";

const desk = openProviderDesk();
const done = ["waiting_for_merge", "completed"];
const again = [...lostRequest, "retried"];

describe.each(models)("%s", (model) => {
  const fine = say(model, { text: "All is well." });
  const completed = {
    state: "closed completed report_accepted",
    told: { status: "completed", result: "All is well.", closeReason: "report_accepted" },
    left: nothing,
  };
  const unavailable = {
    state: "closed failed provider_unavailable",
    told: { status: "failed", closeReason: "provider_unavailable" },
    left: nothing,
  };

  it("fault 6: a 429 with retry-after is waited out, by one that runs on", async () => {
    const slow = refuse(429, "slow down", { "retry-after": "1" });
    const after = await desk.meet(model, [slow, fine]);
    expect(after).toMatchObject({ ...completed, events: life(...again, ...turn, ...done) });
    expect(ofType(after.log, "agent.retried")[0]?.payload).toMatchObject({
      what: "request",
      delay_ms: 1000,
    });
    expect(after.told.tokenUsage).toMatchObject({ prompt: 9, completion: 3 });
  });

  it("fault 6: a 429 that is a spend cap fails, and is not asked again", async () => {
    const after = await desk.meet(model, [refuse(429, "You exceeded your current quota"), fine]);
    expect(after).toMatchObject({ ...unavailable, events: life(...lostRequest, "failed") });
    expect(desk.askedAt).toHaveLength(1);
    expect(after.told.tokenUsage).toEqual({ prompt: 0, completion: 0, cost: 0 });
  });

  it.each([503, 529])(
    "fault 7: a %i is asked again a few times, with waits that are bounded",
    async (status) => {
      const after = await desk.meet(model, [refuse(status, "overloaded"), fine], {
        limits: { requestTries: 4, backoffMs: 20, maxBackoffMs: 40 },
      });
      expect(after).toMatchObject({ ...completed, events: life(...again, ...turn, ...done) });
      const refused = await desk.meet(model, [refuse(status, "overloaded")], {
        limits: { requestTries: 4, backoffMs: 20, maxBackoffMs: 40 },
      });
      expect(refused).toMatchObject({
        ...unavailable,
        events: life(...again, ...again, ...again, ...lostRequest, "failed"),
      });
      const waits = ofType(refused.log, "agent.retried").map(({ payload }) => payload.delay_ms);
      for (const [index, wait] of waits.entries()) {
        const whole = Math.min(20 * 2 ** index, 40);
        expect(wait).toBeGreaterThanOrEqual(whole / 2);
        expect(wait).toBeLessThanOrEqual(whole);
      }
      expect(desk.askedAt).toHaveLength(4);
    },
  );

  it("fault 8: a stream that is cut inside a call's arguments makes no call, and is asked again", async () => {
    const cut = say(
      model,
      { text: "I will look.", arguments: '{"patt', isComplete: false },
      (response) => response.destroy(),
    );
    const after = await desk.meet(model, [cut, say(model, { arguments: '{"pattern":"x"}' }), fine]);
    expect(after).toMatchObject({
      ...completed,
      events: life(...again, ...turn, "tool_started", "tool_completed", ...turn, ...done),
    });
    expect(desk.searches).toBe(1);
    const [settled, ...others] = ofType(after.log, "agent.budget_settled", after.child);
    expect(settled?.payload).toMatchObject({ partial: "I will look.", estimated: true });
    // The cut one is counted once, as an estimate, and the others as they were reported.
    const { completion = 0, prompt = 0, reserved = 0 } = settled?.payload ?? {};
    expect(completion).toBeGreaterThanOrEqual("I will look.".length);
    expect(prompt + completion).toBeLessThan(reserved);
    expect(after.told.tokenUsage).toMatchObject({
      prompt: prompt + 9 * others.length,
      completion: completion + 3 * others.length,
      estimated: true,
    });
  });

  it("fault 12: a conversation that is too long is shortened, and not sent in vain for ever", async () => {
    const long = refuse(400, "prompt is too long: 201000 tokens > 200000 maximum");
    const much = say(model, { arguments: '{"pattern":"much"}' });
    const looked = [...turn, "tool_started", "tool_completed"];
    const shortened = [...lostRequest, "compacted"];
    expect(await desk.meet(model, [much, long, fine])).toMatchObject({
      ...completed,
      events: life(...looked, ...shortened, ...turn, ...done),
    });
    const failed = {
      state: "closed failed no_progress",
      told: { status: "failed", closeReason: "no_progress" },
      left: nothing,
    };
    expect(await desk.meet(model, [much, long])).toMatchObject({
      ...failed,
      // To 8,000 characters, to 2,000 and to 200.
      events: life(
        ...looked,
        ...[...shortened, ...shortened, ...shortened],
        ...[...lostRequest, "failed"],
      ),
    });
    expect(await desk.meet(model, [long])).toMatchObject({
      ...failed,
      events: life(...lostRequest, "failed"),
    });
    expect(desk.askedAt).toHaveLength(1);
  });
});
