import { beforeEach, describe, expect, it } from "vitest";
import {
  isDistributed,
  isOnPostgres,
  notOffered,
} from "../../testing/alter-database.test-support.ts";
import { until } from "../../testing/until.ts";
import { busy } from "../busy-tool.test-support.ts";
import {
  delegate,
  isRunPaused,
  openWith,
  profiles,
  Scene,
  startScene,
  statesOf,
} from "./interrupt-scene.test-support.ts";

/** Processes die at every `step`-th moment after an interrupt, and after a resumption. */
export function testDeaths(step: number): void {
  describe("whenever the process dies", () => {
    beforeEach(({ skip }) => skip(isDistributed, notOffered.ownership));
    const scenes = {
      "those who continue come to their end, and then their caller ends": {
        roots: [delegate("goer", "nest a"), delegate("ender", "b")],
        agents: 4,
        ends: { lead: "cancelled", goer: "report_accepted", ender: "cancelled" },
      },
      "those who pause rest, and are not taken up by themselves": {
        roots: [delegate("rester", "nest a"), delegate("ender", "b")],
        agents: 4,
        ends: { lead: "paused", rester: "paused", leaf: "paused", ender: "cancelled" },
      },
      "all three are treated as their contracts say": {
        roots: [delegate("goer", "a"), delegate("rester", "b"), delegate("ender", "c")],
        agents: 4,
        ends: { lead: "paused", goer: "report_accepted", rester: "paused", ender: "cancelled" },
      },
    };
    for (const [title, { agents, ends, roots }] of Object.entries(scenes)) {
      it(title, async () => {
        // At each event that follows the interrupt, until it dies no more.
        for (let point = 0, died = true; died; point += step) {
          died = false;
          const scene = new Scene(...roots);
          await using mandate = await openWith(scene);
          const { runId } = await startScene(mandate, agents);
          let seen = -1;
          mandate.store.subscribe((events) => {
            for (const { type } of events) {
              if (type === "agent.interrupted") {
                seen = 0;
                // Before that they could come to an end of their own, which is another story.
                scene.mayStop = point % 2 === 0;
              }
              if (seen >= 0 && !died && seen++ === point) {
                died = true;
                mandate.abandon();
              }
            }
          });
          const interrupted = await mandate.engine.interrupt(runId, "bye").catch(() => undefined);
          scene.mayStop = true;
          if (!died) await interrupted?.settled;
          const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
          const asked = scene.asked.length;
          for (const { result } of await next.engine.recover()) {
            await Promise.race([result, until("it rests", () => isRunPaused(next, runId))]);
          }
          expect(await statesOf(next, runId)).toMatchObject(ends);
          // The caller had its turn before, and never another one.
          expect(scene.asked.slice(asked)).not.toContain("lead");
          expect(await next.engine.recover()).toEqual([]);
          const paused = await isRunPaused(next, runId);
          expect(paused).toBe(ends.lead === "paused");
          if (!paused) continue;
          const [resumed] = await next.engine.recover(runId);
          expect(await resumed?.result).toMatchObject({ status: "completed" });
          expect(await statesOf(next, runId)).toMatchObject({ rester: "report_accepted" });
        }
      });
    }
  });

  describe("whoever resumes a run", () => {
    // Every moment is a database of its own and three processes.
    const timeout = isOnPostgres ? 300_000 : 120_000;
    it("may die at any moment: it rests on, or goes on where it was", { timeout }, async () => {
      for (let point = 0, died = true; died; point += step) {
        died = false;
        const scene = new Scene(delegate("rester", "nest a"), delegate("goer", "b"));
        await using mandate = await openWith(scene);
        const { runId } = await startScene(mandate, 4);
        const { settled } = await mandate.engine.interrupt(runId, "later");
        scene.mayStop = true;
        await settled;
        const second = await mandate.another({ profiles, tools: [busy], model: scene.model });
        const dead = Promise.withResolvers<void>();
        let seen = -1;
        second.store.subscribe((events) => {
          for (const { type } of events) {
            if (type === "run.resumed") seen = 0;
            if (seen >= 0 && !died && seen++ === point) {
              died = true;
              dead.resolve();
              second.abandon();
            }
          }
        });
        const [resumed] = await second.engine.recover(runId).catch(() => []);
        if (!died) await Promise.race([resumed?.result, dead.promise]);
        if (!died) break;
        const third = await mandate.another({ profiles, tools: [busy], model: scene.model });
        const isResting = await isRunPaused(third, runId);
        const taken = await third.engine.recover(isResting ? runId : undefined);
        await taken[0]?.result;
        expect(await third.engine.resultOf(runId)).toMatchObject({
          status: "completed",
          result: "heard 2",
        });
      }
    });
  });
}
