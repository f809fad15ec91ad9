import { z } from "zod";
import { isRecord } from "../../ports/parse-json.ts";

/**
 * Removes `""` and `null` from optional fields: models and forms write them for "not given". An
 * empty list stays, since it means none, and so does a `null` that the schema accepts.
 */
export function withoutEmpty(schema: z.ZodType, given: unknown): unknown {
  return hasEmpty(given) ? strip(schema, given) : given;
}

/** Most inputs have nothing to remove, and are not copied. */
function hasEmpty(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return isEmpty(given);
  return Object.values(given).some(hasEmpty);
}

function strip(schema: z.ZodType, given: unknown): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray && Array.isArray(given)) {
    const element = inner.element as z.ZodType;
    return given.map((item) => strip(element, item));
  }
  if (!(inner instanceof z.ZodObject) || !isRecord(given)) return given;
  const shape: Readonly<Record<string, z.ZodType>> = inner.shape;
  const kept = Object.entries(given).flatMap(([key, value]): [string, unknown][] => {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field === undefined) return [[key, value]];
    return isEmpty(value) && isOptional(field, value) ? [] : [[key, strip(field, value)]];
  });
  return Object.fromEntries(kept);
}

/** Removes `""` and `null` from all fields but the required ones. */
export function withoutEmptyFields<Given extends object>(
  given: Given,
  required: readonly (keyof Given)[],
): Given {
  const fields = Object.entries(given).filter(
    ([key, value]) => !isEmpty(value) || required.includes(key as keyof Given),
  );
  return Object.fromEntries(fields) as Given;
}

function isEmpty(value: unknown): boolean {
  return value === "" || value === null;
}

function isOptional(field: z.ZodType, value: unknown): boolean {
  if (!field.safeParse(undefined).success) return false;
  return value !== null || !field.safeParse(null).success;
}

function unwrap(schema: z.ZodType): z.ZodType {
  let inner: z.ZodType = schema;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodNullable ||
    inner instanceof z.ZodReadonly
  ) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}
