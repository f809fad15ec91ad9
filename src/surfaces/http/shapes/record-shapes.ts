import { z } from "zod";
import type { AgentRegistry } from "../../../control/records/agent-registry.ts";
import { profileName } from "./ids.ts";
import { listOf, moment, plainData } from "./plain-data.ts";
import { countIn } from "./query-values.ts";

export const registryRecord = z.object({
  record: z.string(),
  version: z.number().meta({ description: "0 while nobody has registered anything." }),
  value: plainData<AgentRegistry>("{ version: 1, agents: [ … ] }"),
  updatedBy: z.string().nullable(),
  updatedAt: moment.nullable(),
});

const expectedVersion = z.int().min(0).meta({
  description: "The version that was read; 0: there must be none yet.",
});

export const putRegistryBody = z.strictObject({
  value: z.record(z.string(), z.unknown()).meta({ description: "The whole registry." }),
  expectedVersion,
});

const pinScope = z.enum(["session", "user", "workspace", "global"]);

const scopeId = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,1024}$/u, "1 to 1024 characters that can be seen")
  .meta({
    description:
      "Whose, as the list has it: a session, a user or a folder. Not for global; a user's is one's own unless said. Only admins name those of others.",
  });

export const pinRow = z.object({
  record: z.string(),
  scope: pinScope,
  id: z.string().nullable(),
  profileId: z.string().nullable().meta({ description: "Null: the record names none." }),
  problem: z.string().nullable().meta({ description: "Why it cannot be used; null: it can." }),
  version: z.number(),
  updatedBy: z.string(),
  updatedAt: moment,
});

export const pinList = z.object({
  /** The one that counts for whoever asks, and where it comes from. */
  effective: z.object({ scope: pinScope, profileId: z.string(), source: z.string() }).nullable(),
  problem: z.string().nullable().meta({ description: "Why the one that counts cannot be used." }),
  items: listOf(pinRow).meta({ description: "Of every scope, a thousand at most." }),
});

export const putPinBody = z.strictObject({
  scope: pinScope,
  id: scopeId.optional(),
  profileId: profileName,
  expectedVersion,
});

export const deletePinQuery = z.strictObject({
  scope: pinScope,
  id: scopeId.optional(),
  expectedVersion: countIn(1, Number.MAX_SAFE_INTEGER),
});
