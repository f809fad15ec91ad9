import { z } from "zod";
import { measureJson } from "./measure-json.ts";

const bounds = { bytes: 1024 * 1024, depth: 32 };

/**
 * The arguments of a server's tool: an object of bounded size. Whether they fit the server's own
 * schema is for the server to say; running foreign patterns over them here would be a way in.
 */
export const plainInput: z.ZodType<Record<string, unknown>> = z.custom<Record<string, unknown>>(
  (value) => problemOf(value) === undefined,
  { error: (issue) => `The input ${problemOf(issue.input) ?? "does not fit"}.` },
);

function problemOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "is not an object";
  }
  return measureJson(value, bounds);
}
