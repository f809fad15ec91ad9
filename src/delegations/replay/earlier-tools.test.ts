import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { ForgedLog, type LooseEvent } from "../../events/checker/forged-log.test-support.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, isOnPostgres } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { replayAgain } from "./replay-again.test-support.ts";

/** As version 0.1.0 wrote it: of a tool, a start had its name and nothing else. */
function asBefore(event: LooseEvent): LooseEvent {
  if (event.type !== "agent.tool_started") return event;
  const { call_id, tool } = event.payload;
  return { ...event, payload: { call_id, tool } as typeof event.payload };
}

const wait = { tool: "spawn_await", input: { job_ids: "*", max_wait_ms: 1 } };

test.skipIf(isOnPostgres || isDistributed)(
  "a log that knows tools by their names alone passes the checker and replays to the same",
  async () => {
    const enough = Promise.withResolvers<void>();
    const model: Script = async ({ caller, messages }) => {
      if (caller.profile === "slow") {
        await enough.promise;
        return "at last";
      }
      if (caller.turn === 1) {
        const job = { tool: "spawn", input: { task: "look", profile: "slow" } };
        return { calls: [job, { tool: "memory_save", input: { text: "Remember this." } }] };
      }
      if (caller.turn === 8) enough.resolve();
      return messages.at(-1)?.text.includes(": OK]") ? "done" : { calls: [wait] };
    };
    const options = {
      model,
      profiles: [
        testProfile("lead", { tools: ["spawn", "spawn_await", "memory_save"] }),
        testProfile("slow"),
      ],
    };
    await using engine = await openEngine(options);
    const { result, runId } = await engine.run({ task: "go", profile: "lead" });
    expect(result.status).toBe("completed");
    await engine.close();
    const log = new ForgedLog(engine.database);
    log.rewrite(runId, (events) => events.map(asBefore));
    log.close();
    rmSync(`${engine.database}-head`, { force: true });
    const next = await engine.another(options);
    const started = ofType(await next.events(runId), "agent.tool_started", result.delegationId);
    expect(started.slice(0, 3).map(({ payload }) => payload)).toEqual([
      { call_id: "call_1_1", tool: "spawn", changes: "none" },
      { call_id: "call_1_2", tool: "memory_save", changes: "any", saves_memory: true },
      { call_id: "call_2_1", tool: "spawn_await", changes: "none", joins: true, polls: "results" },
    ]);
    // More of the same calls than an agent may make that does not wait.
    expect(started.length).toBeGreaterThan(6);
    const replayed = await replayAgain(next.store, runId);
    expect(replayed).toMatchObject({ differences: [], isFinished: true });
  },
);
