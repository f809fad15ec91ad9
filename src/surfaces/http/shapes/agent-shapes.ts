import { z } from "zod";
import { profileName } from "./ids.ts";
import { listOf } from "./plain-data.ts";

const names = z.array(z.string().max(200)).max(500);

export const agentRow = z.object({
  agentId: z.string(),
  profileId: z.string(),
  description: z.string(),
  defaultForwardSkills: listOf(z.string()).optional(),
  allowedForwardSkills: listOf(z.string()).optional(),
  defaultMcpServers: listOf(z.string()).optional(),
  allowedMcpServers: listOf(z.string()).optional(),
  tags: listOf(z.string()).optional(),
  profileExists: z.boolean(),
  model: z.string().nullable().meta({ description: "What it would run on now." }),
});

export const agentList = z.object({ items: listOf(agentRow), version: z.number() });

/** What is left unsaid stays as it was; a new agent needs a profile and a description. */
export const registerAgentBody = z.strictObject({
  profileId: profileName,
  description: z.string().max(2000),
  defaultForwardSkills: names.optional(),
  allowedForwardSkills: names.optional(),
  defaultMcpServers: names.optional(),
  allowedMcpServers: names.optional(),
  tags: names.optional(),
});
