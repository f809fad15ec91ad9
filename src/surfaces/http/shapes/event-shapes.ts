import { z } from "zod";
import type { EventType } from "../../../events/event.ts";
import { moment, plainData } from "./plain-data.ts";

/** An event as it is stored, and one line about it. */
export const eventRow = z.object({
  seq: z.number(),
  run_seq: z.number(),
  run_id: z.string(),
  sub_agent_id: z.string().optional(),
  type: plainData<EventType>("Such as agent.subagent_created."),
  at: moment,
  summary: z.string(),
  payload: plainData<Readonly<Record<string, unknown>>>(
    "The details; their form goes by the type.",
  ),
  hash: z.string(),
});
