import { z } from "zod";
import { listOf } from "./plain-data.ts";

export const fileQuery = z.strictObject({
  workspace: z
    .string()
    .max(4096)
    .optional()
    .meta({ description: "One of the server's folders, or one below; the first unless said." }),
  q: z.string().max(200).optional().meta({ description: "Letters of the path, in their order." }),
});

export const fileList = z.object({
  workspace: z.string().meta({ description: "The folder that the paths are below." }),
  items: listOf(z.object({ path: z.string() })).meta({
    description: "Those that fit best first, 50 at most.",
  }),
  isPartial: z
    .boolean()
    .meta({ description: "There are more files in the folder than were looked at." }),
});
