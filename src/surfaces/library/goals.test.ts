import { expect, test } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { createMandate } from "./mandate.ts";

test.each(["isQueued", "isGoal"])(
  "a run with %s waits for the queued run before it",
  async (name) => {
    const order: string[] = [];
    const scripted = scriptedModel(({ caller }) => {
      order.push(caller.task);
      return { text: `${caller.task} is reached`, latency_ms: caller.task === "one" ? 30 : 0 };
    });
    const mandate = await createMandate({ database: ":memory:", environment: {}, scripted });
    try {
      const goal = { profile: "orchestrator", [name]: true };
      const [one, two] = [
        await mandate.start({ ...goal, task: "one" }),
        await mandate.start({ ...goal, task: "two" }),
      ];
      expect([one.behind, two.behind]).toEqual([undefined, one.runId]);
      expect((await two.result).result).toBe("two is reached");
      expect(order).toEqual(["one", "two"]);
      expect((await mandate.verify()).violations).toEqual([]);
    } finally {
      await mandate.close();
    }
  },
);
