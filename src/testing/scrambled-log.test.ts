import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import { compareRuns } from "../delegations/replay/compare-runs.ts";
import { ForgedLog } from "../events/checker/forged-log.test-support.ts";
import type { StoredEvent } from "../events/event.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ModelFault } from "../ports/model.ts";
import { defineTool } from "../tools/tool.ts";
import { isDistributed, isOnPostgres, notOffered } from "./alter-database.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  type TestEngine,
  testProfile,
} from "./engine-fixture.ts";
import { scrambled } from "./scrambled-sentences.test-support.ts";
import { until } from "./until.ts";

/** What a run came to whose process died on the way, and what it wrote. */
interface Lived {
  readonly result: unknown;
  readonly events: readonly StoredEvent[];
}

interface Crash {
  readonly options: EngineOptions;
  /** Brings the run to where its process dies. */
  before(engine: TestEngine, runId: string): Promise<unknown>;
  /** What happens to it in the next process. */
  after?(engine: TestEngine, runId: string): Promise<unknown>;
}

async function crash(
  { after, before, options }: Crash,
  change?: (database: string, runId: string) => void,
): Promise<Lived> {
  await using engine = await openEngine(options);
  const { runId } = await engine.start({ task: "go", profile: "lead" });
  await before(engine, runId);
  engine.abandon();
  await engine.store.close();
  change?.(engine.database, runId);
  const next = await engine.another(options);
  const [recovered] = await next.engine.recover(runId);
  await after?.(next, runId);
  const { result, status } = (await recovered?.result) ?? {};
  return { result: { result, status }, events: await next.events(runId) };
}

/** No sentence of the runtime can be read any more; hashes and stored state fit. */
function scramble(database: string, runId: string): void {
  const log = new ForgedLog(database);
  log.rewrite(runId, (events) => events.map(scrambled));
  log.close();
  rmSync(`${database}-head`, { force: true });
}

async function expectTheSame(scene: Crash): Promise<Lived> {
  const plain = await crash(scene);
  const other = await crash(scene, scramble);
  expect(other.result).toEqual(plain.result);
  expect(compareRuns(plain.events, other.events)).toEqual([]);
  return plain;
}

const asked = (engine: TestEngine, runId: string) =>
  until("a question", async () => ofType(await engine.events(runId), "agent.asked").at(-1));

const answer =
  (text: string) =>
  async (engine: TestEngine, runId: string): Promise<void> => {
    const { payload } = await asked(engine, runId);
    expect(await engine.engine.answer(payload.ask_id, text)).toBe(true);
  };

let launches = 0;
const launch = defineTool({
  name: "launch",
  description: "Does what cannot be undone.",
  effect: "read",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ at: z.number() }),
  execute() {
    launches++;
    return "launched";
  },
});

describe.skipIf(isOnPostgres || isDistributed)("a log whose sentences nobody can read", () => {
  it("is recovered alike: refusals, retries, reminders, an open approval", async () => {
    const lead = testProfile("lead", {
      tools: ["launch", "list_files"],
      capabilities: ["primary"],
      toolRules: [{ tool: "launch", match: "*", action: "ask" }],
    });
    const script: Script = ({ caller, messages }) => {
      if (caller.turn === 1 && caller.try === 1) {
        throw new ModelFault("overloaded", "not now", { retryAfterMs: 0 });
      }
      if (caller.turn === 1) {
        return {
          calls: ["write_file", "nonsense", "list_files"].map((tool) => ({ tool, input: {} })),
        };
      }
      if (caller.turn === 2) return "";
      if (caller.turn === 3) return { calls: [{ tool: "launch", input: { at: 7 } }] };
      return `done: ${messages.at(-1)?.text}`;
    };
    const { events, result } = await expectTheSame({
      options: { profiles: [lead], tools: [launch], model: script },
      before: asked,
      after: answer("yes"),
    });
    expect(result).toEqual({ result: "done: launched", status: "completed" });
    expect(ofType(events, "agent.asked")).toHaveLength(1);
    expect(ofType(events, "agent.tool_denied").map(({ payload }) => payload.rule)).toEqual([
      ...["unknown_tool", "no_workspace", "tool_not_granted"],
    ]);
    expect(launches).toBe(2);
  });

  it("is recovered alike: an agent that does not stop as it has to, and a person is asked", async () => {
    const lead = testProfile("lead", {
      tools: ["complete_task"],
      capabilities: ["primary"],
      exit: { tools: ["complete_task"] },
    });
    const { events } = await expectTheSame({
      options: {
        profiles: [lead],
        model: ({ messages }) =>
          messages.at(-1)?.text === "end it"
            ? { calls: [{ tool: "complete_task", input: { summary: "ended" } }] }
            : "I am done.",
      },
      before: asked,
      after: answer("end it"),
    });
    expect(ofType(events, "agent.asked")).toHaveLength(1);
    expect(ofType(events, "agent.interjected")).toHaveLength(4);
  });

  it("is recovered alike: a call that was cut, and is not made again", async () => {
    let isHanging = true;
    const hang = defineTool({
      ...launch,
      name: "hang",
      execute: () => (isHanging ? new Promise<string>(() => undefined) : "came back"),
    });
    const lead = testProfile("lead", { tools: ["hang"], capabilities: ["primary"] });
    const { events } = await expectTheSame({
      options: {
        profiles: [lead],
        tools: [hang],
        model: ({ caller }) =>
          caller.turn === 1 ? { calls: [{ tool: "hang", input: { at: 1 } }] } : "done",
      },
      before: async (engine, runId) => {
        isHanging = true;
        await until("the call has begun", async () =>
          ofType(await engine.events(runId), "agent.tool_started").at(0),
        );
      },
    });
    expect(ofType(events, "agent.tool_outcome_unknown")).toHaveLength(1);
  });

  it("is recovered alike: a run that was interrupted, with a child that waits", async ({
    skip,
  }) => {
    if (isDistributed) skip(notOffered.ownership);
    let mayEnd = false;
    const profiles = [
      testProfile("lead", { tools: ["delegate_task"], capabilities: ["primary"] }),
      testProfile("worker", { onParentInterrupt: "pause" }),
    ];
    await expectTheSame({
      options: {
        profiles,
        model({ caller }) {
          if (caller.profile === "worker") return mayEnd ? "worked" : { fault: "hang" };
          if (caller.turn > 1) return "done";
          return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "work" } }] };
        },
      },
      before: async (engine, runId) => {
        mayEnd = false;
        await until("the worker waits for its model", async () =>
          ofType(await engine.events(runId), "agent.budget_reserved").at(1),
        );
        await engine.engine.interrupt(runId, "Its caller was cancelled.");
        mayEnd = true;
      },
    });
  });
});
