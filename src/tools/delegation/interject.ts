import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defineTool } from "../tool.ts";

export const interjectTool = defineTool({
  name: "interject",
  description:
    "Say something to the agent that you watch. info: it is kept for the person; warn: the agent reads it before its next turn; critical: the agent's next calls are stopped. At most three sentences.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  changes: "none",
  onlyFor: "watcher",
  input: z.strictObject({
    severity: z.enum(["info", "warn", "critical"]),
    message: z.string().trim().min(1).max(1000),
  }),
  async execute({ message, severity }, { delegator }) {
    const refusal = await delegator.interject(severity, message);
    return refusal === undefined ? "Said." : { text: `Error: ${refusal}`, isError: true };
  },
});
