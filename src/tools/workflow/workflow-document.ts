import { z } from "zod";

/** A script with its arguments and limits, as a run stores it: what is resumed later is exactly this. */
const workflowDocument = z.strictObject({
  script: z.string(),
  isLenient: z.boolean().optional(),
  /** The file that the script was read from. */
  file: z.string().optional(),
  /** The arguments of the script; absent: none were given. */
  args: z.unknown().optional(),
  /** The delegation whose recorded results are taken. */
  resumes: z.string().optional(),
  limits: z
    .strictObject({
      outputTokens: z.int().positive().optional(),
      maxConcurrent: z.int().positive().optional(),
      maxAgents: z.int().positive().optional(),
    })
    .optional(),
});

export type WorkflowDocument = z.infer<typeof workflowDocument>;

/** Undefined: the stored text is no such document. */
export function readWorkflowDocument(text: string): WorkflowDocument | undefined {
  try {
    return workflowDocument.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
