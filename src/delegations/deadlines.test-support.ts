import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  openEngine,
  recording,
  testProfile,
} from "../testing/engine-fixture.ts";
import { defineTool } from "../tools/tool.ts";
import type { EngineLimits } from "./engine-parts.ts";

/** Far beyond what any test takes: only the deadline that a test shortens can expire. */
export const deadlines: EngineLimits["deadlines"] = {
  firstTokenMs: 100_000,
  stallMs: 100_000,
  toolMs: 100_000,
  idleMs: 100_000,
};

export const profiles = [
  testProfile("lead", {
    tools: ["delegate_task", "spawn"],
    mayDelegate: { tools: ["delegate_task", "slow"] },
  }),
  testProfile("worker", { tools: ["slow"] }),
  testProfile("brief", { tools: ["slow"], limits: { timeoutMs: 40 } }),
];

/** A tool that is not done before the test says so. */
export function slowTool() {
  const mayFinish = Promise.withResolvers<void>();
  const state = { aborted: 0, finished: 0, began: () => {}, finish: () => mayFinish.resolve() };
  const tool = defineTool({
    name: "slow",
    description: "Is slow.",
    effect: "exec",
    exposure: noExposure,
    idempotent: false,
    scopes: [],
    input: z.strictObject({ listens: z.boolean().default(false) }),
    async execute({ listens }, { signal }) {
      const isAborted = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          state.aborted += 1;
          resolve();
        });
      });
      state.began();
      await (listens ? isAborted : mayFinish.promise);
      state.finished += 1;
      return "took its time";
    },
  });
  return { state, tool };
}

export const callSlow = (input: { readonly listens?: boolean } = {}) => ({
  calls: [{ tool: "slow", input }],
});

/** A lead with a child of this profile; what the child does is given. */
export async function childThat(child: Script, profile = "worker", options: EngineOptions = {}) {
  const { seen, model } = recording((request) => {
    const { caller } = request;
    if (caller.depth > 0) return child(request);
    if (caller.turn > 1) return "noted";
    return { calls: [{ tool: "delegate_task", input: { profile, task: "work" } }] };
  });
  await using mandate = await openEngine({
    profiles,
    tools: [slowTool().tool],
    model,
    ...options,
    limits: { maxRetries: 0, requestTries: 2, deadlines, ...options.limits },
  });
  const { result, events } = await mandate.run({ task: "go", profile: "lead" });
  const shown = JSON.parse(
    seen
      .filter(({ caller }) => caller.depth === 0)
      .at(-1)
      ?.messages.at(-1)?.text ?? "{}",
  );
  return { shown, events, requests: seen.filter(({ caller }) => caller.depth > 0), result };
}
