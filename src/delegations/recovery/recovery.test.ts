import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine } from "../../testing/engine-fixture.ts";
import { dieAfter, options, recoverIn, scenarios, testDeaths } from "./recovery.test-support.ts";

testDeaths(4);

describe("recovery", () => {
  it("tells the log who took the run up, and resumes each open delegation once", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.ownership);
    const [model] = Object.values(scenarios) as [Script];
    await using mandate = await openEngine({ ...options, model });
    expect(await dieAfter(6, mandate)).toBe(true);
    const { events } = await recoverIn(mandate, model);
    const [started] = ofType(events, "run.started");
    const [taken, ...more] = ofType(events, "run.resumed");
    expect(more).toEqual([]);
    expect(taken?.payload.fence).toBe((started?.payload.fence ?? 0) + 1);
    expect(taken?.payload.worker).not.toBe(started?.payload.worker);
    const resumed = ofType(events, "agent.resumed").map((event) => event.sub_agent_id);
    expect(new Set(resumed).size).toBe(resumed.length);
    expect(resumed.length).toBeGreaterThan(0);
  });

  it("leaves a run alone that somebody is working on", async () => {
    const looked = Promise.withResolvers<void>();
    const model: Script = async () => {
      await looked.promise;
      return "slowly";
    };
    await using mandate = await openEngine({ ...options, model });
    const { result } = await mandate.start({ task: "go", profile: "leaf" });
    const second = await mandate.another({ ...options, model });
    expect(await second.engine.recover()).toEqual([]);
    looked.resolve();
    expect(await result).toMatchObject({ status: "completed", result: "slowly" });
  });

  it("does not take up the runs of another application", async () => {
    const model: Script = () => ({ fault: "hang" });
    await using mandate = await openEngine({ ...options, model, application: "theirs" });
    await mandate.start({ task: "go", profile: "leaf" });
    mandate.abandon();
    const second = await mandate.another({ ...options, model, application: "ours" });
    expect(await second.engine.recover()).toEqual([]);
    const third = await mandate.another({ ...options, model: () => "done", application: "theirs" });
    const [run] = await third.engine.recover();
    expect((await run?.result)?.status).toBe("completed");
  });

  it("of many runs is done by one of several processes each", async ({ skip }) => {
    skip(isDistributed, notOffered.ownership);
    let dying = true;
    const model: Script = ({ caller }) => (dying ? { fault: "hang" } : `did ${caller.task}`);
    await using mandate = await openEngine({ ...options, model, maxConcurrent: 50 });
    for (let run = 0; run < 20; run++) await mandate.start({ task: `${run}`, profile: "leaf" });
    mandate.abandon();
    dying = false;
    const others = [
      await mandate.another({ ...options, model }),
      await mandate.another({ ...options, model }),
    ];
    const recovered = (await Promise.all(others.map((each) => each.engine.recover()))).flat();
    expect(recovered).toHaveLength(20);
    expect(new Set(recovered.map(({ runId }) => runId)).size).toBe(20);
    const results = await Promise.all(recovered.map(({ result }) => result));
    expect(results.every(({ status }) => status === "completed")).toBe(true);
  });
});
