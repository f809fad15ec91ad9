import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import { testProfile } from "../testing/engine-fixture.ts";
import { defineTool } from "../tools/tool.ts";

export const busy = defineTool({
  name: "busy",
  description: "Is busy for a moment.",
  effect: "exec",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ n: z.int() }),
  async execute() {
    await delay(3);
    return "done";
  },
});

const profiles = [
  testProfile("lead", {
    tools: ["delegate_task", "spawn", "spawn_await"],
    mayDelegate: { tools: ["delegate_task", "busy"] },
  }),
  testProfile("middle", { tools: ["delegate_task", "busy"] }),
  testProfile("worker", { tools: ["busy"] }),
];

/** A lead, a middle and a worker, who can be kept at work. */
export const busyTeam = { profiles, tools: [busy] };
