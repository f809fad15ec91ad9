import { expect, test } from "vitest";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import type { Model } from "../../ports/model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const prices = { "test/m": { input: 1, output: 5 } };
const profiles = ["lead", "child"].map((name) =>
  testProfile(name, { tools: ["delegate_task", "list_files"], model: { model: "test/m" } }),
);
const modest = { prompt: 10, completion: 1 };
const tooMuch = { prompt: 40_000, completion: 5 };

function optionsFor(model: Model | Script): EngineOptions {
  return {
    profiles,
    models: { test: isScript(model) ? scriptedModel(model) : model },
    config: {
      models: { providers: {}, pools: {}, prices },
      deadlines: { firstTokenMs: 80, stallMs: 80, toolMs: 5000, idleMs: 60_000 },
    },
    limits: { maxOutputTokens: 400, maxRetries: 0, backoffMs: 1 },
  };
}

function isScript(model: Model | Script): model is Script {
  return model.length < 2;
}

/** The lead asks a child; the child answers as it is said. */
const asking =
  (child: Script): Script =>
  (request) => {
    const { depth, turn } = request.caller;
    if (depth > 0) return child(request);
    if (turn > 1) return { text: "done", usage: modest };
    const input = { profile: "child", task: "x" };
    return { text: "begun", calls: [{ tool: "delegate_task", input }], usage: modest };
  };

const cases: readonly [what: string, child: Script, maxTokens: number][] = [
  ["an overrun", () => ({ text: "part", usage: tooMuch }), 90_000],
  ["an overrun that exceeds the caller's cap", () => ({ text: "part", usage: tooMuch }), 30_000],
  [
    "an overrun with calls that are not made",
    () => ({ calls: Array(7).fill({ tool: "list_files", input: {} }), usage: tooMuch }),
    90_000,
  ],
  [
    "a stream that was cut and asked again",
    ({ caller }) =>
      caller.try === 1
        ? { fault: "connection", partial: "it began" }
        : { text: "ok", usage: modest },
    90_000,
  ],
  [
    "a stream that went silent",
    ({ caller }) =>
      caller.try === 1
        ? { fault: "stall-mid-stream", text: "half of it" }
        : { text: "ok", usage: modest },
    90_000,
  ],
  ["a count that is none", () => ({ text: "ok", usage: { prompt: -5, completion: 9e9 } }), 90_000],
];

test.each(cases)("%s replays to the same amounts", async (_what, child, maxTokens) => {
  await using mandate = await openEngine(optionsFor(asking(child)));
  const { runId } = await mandate.run({ task: "go", profile: "lead", maxTokens, maxCost: 9 });
  expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
});

test.for(["cancel", "crash"])(
  "a %s in the middle of an answer replays to the same amounts",
  async (how, { skip }) => {
    skip(isDistributed && how === "crash", notOffered.replay);
    const asked = Promise.withResolvers<void>();
    let isSecond = false;
    const model = asking(() => {
      asked.resolve();
      return isSecond
        ? { text: "ok", usage: modest }
        : { fault: "stall-mid-stream", text: "half of it" };
    });
    const { config, ...rest } = optionsFor(model);
    const options = {
      ...rest,
      config: { models: config?.models ?? { providers: {}, pools: {}, prices } },
    };
    await using mandate = await openEngine(options);
    const before = await mandate.another(options);
    const { result, runId } = await before.start({ task: "go", profile: "lead" });
    await asked.promise;
    // The scripted model sends what it has in the same breath.
    await new Promise(setImmediate);
    isSecond = true;
    if (how === "cancel") {
      await before.engine.cancel(runId, "enough");
      await result;
    } else {
      before.abandon();
      await using after = await mandate.another(options);
      await (await after.engine.recover())[0]?.result;
    }
    const events = await mandate.events(runId);
    const cut = ofType(events, "agent.budget_settled").filter(({ payload }) => payload.estimated);
    expect(cut).toHaveLength(1);
    const { completion = 0, prompt = 0, reserved = 0 } = cut[0]?.payload ?? {};
    // Only the process that had sent the request knows how much of the answer had arrived.
    if (how === "crash" || isDistributed) expect(prompt + completion).toBe(reserved);
    else expect(completion).toBe("half ".length);
    expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
  },
);

test.each([modest, tooMuch])("a late report of %o replays to the same amounts", async (usage) => {
  const second = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const reply = { calls: [], finish: "stop", served: null } as const;
  const model: Model = async ({ caller }, _onPart) => {
    if (caller.try === 1) {
      await second.promise;
      setImmediate(answered.resolve);
      return { ...reply, text: "late", usage };
    }
    second.resolve();
    await answered.promise;
    return { ...reply, text: "done", usage: modest };
  };
  await using mandate = await openEngine(optionsFor(model));
  const { events, runId } = await mandate.run({ task: "go", profile: "lead" });
  expect(ofType(events, "agent.budget_corrected")).toHaveLength(1);
  expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
});
