import { z } from "zod";
import type { Contract } from "../../contracts/contract.ts";
import type { Reminder } from "../../events/cause.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Transcript } from "../../sessions/transcript.ts";
import { type Ending, failure } from "../ends/ending.ts";

/** Whether a final output satisfies the contract's schema: yes, say what is wrong, or give up. */
export type OutputVerdict =
  | { readonly kind: "output"; readonly text: string }
  | { readonly kind: "repair"; readonly reminder: Reminder }
  | Extract<Ending, { kind: "failure" }>;

export function judgeOutput(
  text: string,
  contract: Contract,
  transcript: Transcript,
  /** Handed in through an exit tool, whose `outputs` are then what the schema is about. */
  byTool: boolean,
): OutputVerdict {
  const schema = contract.exit.output_schema;
  if (schema === null) return { kind: "output", text };
  const problem = validate(text, schema, byTool);
  if (problem === null) return { kind: "output", text };
  if (transcript.repairs === 0) {
    return { kind: "repair", reminder: { code: "schema_unmet", text: problem } };
  }
  return failure({ code: "schema_unmet", text: problem });
}

function validate(
  text: string,
  schema: Readonly<Record<string, unknown>>,
  byTool: boolean,
): string | null {
  let value: unknown;
  try {
    value = JSON.parse(unfenced(text));
  } catch (error) {
    return `it is not JSON (${error instanceof Error ? error.message : String(error)}).`;
  }
  const about = byTool ? (value as { outputs?: unknown } | null)?.outputs : value;
  const parsed = compiled(schema).safeParse(about);
  if (parsed.success) return null;
  return `${z.prettifyError(parsed.error).replaceAll("\n", " ")}.`;
}

/** Models like to wrap JSON in a code fence; that is spelling, not structure. */
function unfenced(text: string): string {
  const match = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  return match?.[1] ?? text;
}

/** Throws in a sentence when a schema cannot be checked against: then nothing may be started with it. */
export function requireOutputSchema(
  schema: Readonly<Record<string, unknown>>,
  profile: string,
): void {
  try {
    if (hasPattern(schema))
      throw new Error("patterns are not supported, since one can take for ever.");
    compiled(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MandateError(
      "profile-invalid",
      `The output schema of "${profile}" cannot be used: ${why}`,
      { cause },
    );
  }
}

/** A regular expression runs on what a model wrote, and cannot be stopped. */
function hasPattern(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(
    ([key, value]) =>
      (key === "pattern" && typeof value === "string") ||
      key === "patternProperties" ||
      hasPattern(value),
  );
}

const schemas = new WeakMap<object, z.ZodType>();

function compiled(schema: Readonly<Record<string, unknown>>): z.ZodType {
  let type = schemas.get(schema);
  if (type === undefined) {
    type = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    schemas.set(schema, type);
  }
  return type;
}
