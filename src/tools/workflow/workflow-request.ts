import { z } from "zod";
import { parseJson } from "../../ports/parse-json.ts";

const text = z.string();
const id = z.int().positive();

const scriptError = z.object({ name: text, message: text });

const requestedAgent = z.object({
  prompt: text,
  label: text.optional(),
  phase: text.optional(),
  schema: z.unknown().optional(),
  model: text.optional(),
  effort: text.optional(),
  isolation: text.optional(),
  agentType: text.optional(),
  /** The child script that asks; absent: the script of the run. */
  workflow: text.optional(),
});

const workflowRequest = z.discriminatedUnion("kind", [
  requestedAgent.extend({ kind: z.literal("agent"), id }),
  z.object({
    kind: z.literal("timer"),
    id,
    ms: z
      .number()
      .min(0)
      .max(2 ** 31 - 1),
  }),
  z.object({ kind: z.literal("clear"), timer: id }),
  /** `ref`: a name, or `{ scriptPath }`. */
  z.object({ kind: z.literal("workflow"), id, ref: z.unknown().optional() }),
  z.object({ kind: z.literal("phase"), title: text }),
  z.object({ kind: z.literal("log"), text }),
  /** The script returned: the value as JSON. */
  z.object({ kind: z.literal("done"), json: text.refine((json) => isJson(json)) }),
  z.object({
    kind: z.literal("failed"),
    error: scriptError,
    place: text
      .regex(/^\d{1,9}:\d{1,9}$/)
      .optional()
      .catch(undefined),
  }),
]);

/** A request of a script to its runner. `id`: a reply is delivered under it. */
export type WorkflowRequest = z.infer<typeof workflowRequest>;

export type RequestedAgent = z.infer<typeof requestedAgent>;

export type ScriptError = z.infer<typeof scriptError>;

/** What a script is given for one of its requests; `spent`: output tokens so far. */
export type WorkflowReply =
  | { readonly id: number; readonly spent: number; readonly value: unknown }
  | { readonly id: number; readonly spent: number; readonly error: ScriptError };

/**
 * Reads what an interpreter sent. A hostile script can send anything in place of what its globals send,
 * so nothing of it is believed. Undefined: no request of the format.
 */
export function readRequest(json: string): WorkflowRequest | undefined {
  const value: unknown = parsed(json);
  return isDeeper(value, deepest) ? undefined : workflowRequest.safeParse(value).data;
}

/** Deeper than any schema; what is deeper would overflow the functions that walk through it. */
const deepest = 200;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function isJson(text: string): boolean {
  return parsed(text) !== undefined;
}

function parsed(json: string): unknown {
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}
