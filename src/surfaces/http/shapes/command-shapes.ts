import { z } from "zod";
import type { MandateErrorCode } from "../../../ports/mandate-error.ts";
import { runId, sessionName } from "./ids.ts";
import { listOf, plainData } from "./plain-data.ts";

const place = {
  session: sessionName.optional(),
  workspace: z.string().max(4096).optional(),
};

export const commandBody = z.strictObject({
  text: z.string().min(1).max(1_000_000).meta({ description: "What a person typed." }),
  ...place,
  run: runId.optional().meta({ description: "The run that the person looks at." }),
  readOnly: z.boolean().optional(),
});

export const commandReply = z.object({
  ok: z.boolean(),
  reply: z.string().meta({ description: "Fixed text for people." }),
  code: plainData<MandateErrorCode | null>("Why not; null when it was done."),
  data: plainData<unknown>("The same for programs."),
});

export const completionQuery = z.strictObject({ prefix: z.string().max(4000), ...place });

export const completion = z.object({
  items: listOf(z.object({ text: z.string(), description: z.string() })),
});

export const hotkeyList = z.object({
  hotkeys: listOf(
    z.object({
      keys: z.string(),
      profile: z.string(),
      command: z.string(),
      needsText: z.boolean(),
    }),
  ),
  conflicts: listOf(z.string()),
});
