import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { ModelRequest } from "../../ports/model.ts";
import { Transcript } from "../../sessions/transcript.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const look = defineTool({
  name: "look",
  description: "Says much.",
  effect: "read",
  idempotent: true,
  scopes: [],
  exposure: { untrusted: false, private: false, wayOut: false },
  input: z.strictObject({ at: z.string(), bytes: z.number() }),
  execute: ({ at, bytes }) => `${at} `.repeat(Math.ceil(bytes / (at.length + 1))).slice(0, bytes),
});

/** Calls the tool in so many turns, and says a little in each. */
const looking =
  (turns: number, bytes: number): Script =>
  ({ caller: { turn } }) =>
    turn > turns
      ? "all seen"
      : {
          text: `so far ${turn}`,
          calls: [{ tool: "look", input: { at: `place ${turn}`, bytes } }],
        };

const request = { task: "go", profile: "agent", budgetTokens: 20_000_000, maxTokens: 20_000_000 };

function optionsFor(model: Script, contextWindow?: number): EngineOptions {
  return {
    profiles: [
      testProfile("agent", {
        tools: ["look"],
        ...(contextWindow !== undefined && { model: { contextWindow } }),
      }),
    ],
    tools: [look],
    model,
    limits: { maxRetries: 0 },
  };
}

/** As the scripted model counts: four characters a token. */
function tokensOf({ messages, system }: ModelRequest): number {
  const characters = messages.reduce((sum, { text }) => sum + text.length, system.length);
  return Math.ceil(characters / 4);
}

/** Every request has been shown what its log rebuilds. */
function expectRebuilt(events: readonly StoredEvent[], seen: readonly ModelRequest[]): void {
  const transcript = new Transcript(seen[0]?.messages[0]?.text ?? "");
  for (const event of events) {
    if (event.type === "agent.budget_reserved") {
      expect(transcript.messages).toEqual(seen[event.payload.request - 1]?.messages);
    }
    transcript.apply(event);
  }
}

async function expectReplayed(mandate: TestEngine, runId: string): Promise<void> {
  expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
}

/** A provider that refuses what is longer than so many tokens, and the requests that it took. */
function refusing(script: Script, window: number) {
  const taken: ModelRequest[] = [];
  const model: Script = (asked) => {
    if (tokensOf(asked) > window) return { fault: "context-overflow" };
    taken.push({ ...asked, messages: [...asked.messages] });
    return script(asked);
  };
  return { taken, model };
}

describe("a conversation in a small window", () => {
  it.each([
    ["8k", 8000, 20_000],
    ["20k", 20_000, 20_000],
    ["20k and results larger than the window", 20_000, 200_000],
  ])("of %s goes on for 35 turns of large results", async (_name, window, bytes) => {
    const { seen, model } = recording(looking(35, bytes));
    await using mandate = await openEngine(optionsFor(model, window));
    const { events, result, runId } = await mandate.run(request);
    expect(result).toMatchObject({ status: "completed", result: "all seen" });
    expect(result.truncated).toBeUndefined();
    expect(seen).toHaveLength(36);
    for (const asked of seen) {
      expect(tokensOf(asked) + asked.maxOutputTokens).toBeLessThanOrEqual(window);
      expect(asked.messages[0]?.text).toContain("go");
      expect(asked.maxOutputTokens).toBeGreaterThanOrEqual(2000);
    }
    expect(ofType(events, "agent.compacted").length).toBeGreaterThan(5);
    expectRebuilt(events, seen);
    await expectReplayed(mandate, runId);
  });

  it("shows the beginning of a single result that is larger than the window", async () => {
    const { seen, model } = recording(looking(1, 60_000));
    await using mandate = await openEngine(optionsFor(model, 8000));
    const { events, result } = await mandate.run(request);
    expect(result).toMatchObject({ status: "completed", result: "all seen" });
    const shown = seen[1]?.messages.at(-1)?.text ?? "";
    expect(shown.length).toBeGreaterThan(2000);
    expect(shown).toMatch(/^place 1 [\s\S]*read a smaller part again if you need the rest\]$/);
    const [looked] = ofType(events, "agent.tool_completed");
    expect(looked?.payload.output).toHaveLength(60_000);
  });

  it("is left alone while it fits, and no event says otherwise", async () => {
    const { seen, model } = recording(looking(2, 3000));
    await using mandate = await openEngine(optionsFor(model, 8000));
    const { events } = await mandate.run(request);
    expect(ofType(events, "agent.compacted")).toEqual([]);
    expect(seen.at(-1)?.messages.at(-1)?.text).toHaveLength(3000);
  });

  it("is not sent when it cannot fit", async () => {
    const { seen, model } = recording(() => "never");
    await using mandate = await openEngine(optionsFor(model, 8000));
    const { events, result, runId } = await mandate.run({ ...request, task: "x".repeat(90_000) });
    expect(result).toMatchObject({ status: "failed", closeReason: "no_progress" });
    expect(result.result).toContain("does not fit the model's window");
    expect(seen).toEqual([]);
    expect(ofType(events, "agent.compacted")).toEqual([]);
    await expectReplayed(mandate, runId);
  });

  it("is the same after a crash", async ({ skip }) => {
    skip(isDistributed, notOffered.replay);
    const asked = Promise.withResolvers<void>();
    let isSecond = false;
    const script: Script = (given) => {
      if (given.caller.turn !== 9 || isSecond) return looking(14, 20_000)(given);
      asked.resolve();
      return { fault: "stall-mid-stream", text: "half" };
    };
    const { seen, model } = recording(script);
    const options = optionsFor(model, 8000);
    await using mandate = await openEngine(options);
    const before = await mandate.another(options);
    const { runId } = await before.start(request);
    await asked.promise;
    isSecond = true;
    before.abandon();
    await using after = await mandate.another(options);
    const [recovered] = await after.engine.recover();
    expect(await recovered?.result).toMatchObject({ status: "completed", result: "all seen" });
    expect(seen[9]?.messages).toEqual(seen[8]?.messages);
    expectRebuilt(await mandate.events(runId), seen);
    await expectReplayed(mandate, runId);
  });
});

describe("a provider that refuses what is too long", () => {
  it.each([8000, 20_000])("of %i tokens gets it shorter, as often as needed", async (window) => {
    const { taken, model } = refusing(looking(35, 20_000), window);
    const { seen, model: recorded } = recording(model);
    await using mandate = await openEngine(optionsFor(recorded));
    const { events, result, runId } = await mandate.run(request);
    expect(result).toMatchObject({ status: "completed", result: "all seen" });
    expect(taken).toHaveLength(36);
    expect(seen.length).toBeGreaterThan(40);
    expectRebuilt(events, seen);
    await expectReplayed(mandate, runId);
  });

  it("has the best text so far as the result when nothing helps", async () => {
    const { seen, model } = recording((given) =>
      given.caller.turn <= 3 ? looking(3, 20_000)(given) : { fault: "context-overflow" },
    );
    await using mandate = await openEngine(optionsFor(model));
    const { events, result, runId } = await mandate.run(request);
    expect(result).toMatchObject({
      status: "completed",
      result: "so far 3",
      truncated: true,
      closeReason: "no_progress",
    });
    const sizes = seen.slice(3).map(tokensOf);
    expect(sizes).toEqual([...new Set(sizes)].sort((one, other) => other - one));
    expect(ofType(events, "agent.compacted")).toHaveLength(sizes.length - 1);
    await expectReplayed(mandate, runId);
  });

  it("ends what has no text and nothing to remove, at the first refusal", async () => {
    const { seen, model } = recording(() => ({ fault: "context-overflow" }));
    await using mandate = await openEngine(optionsFor(model));
    const { events, result, runId } = await mandate.run(request);
    expect(result).toMatchObject({ status: "failed", closeReason: "no_progress" });
    expect(seen).toHaveLength(1);
    expect(ofType(events, "agent.compacted")).toEqual([]);
    await expectReplayed(mandate, runId);
  });
});
