import type { z } from "zod";
import type { YamlPath } from "./read-yaml.ts";

type Schema = z.core.$ZodType;

/** Every schema that could judge the value at `path`: more than one where there are unions. */
export function schemasAt(schemas: readonly Schema[], path: YamlPath): Schema[] {
  let current = schemas.flatMap(alternatives);
  for (const step of path) {
    current = current.flatMap((schema) => below(schema, step)).flatMap(alternatives);
  }
  return current;
}

/** The keys an object at `path` may have, by any of the schemas. */
export function knownKeysAt(schemas: readonly Schema[], path: YamlPath): string[] {
  const keys = schemasAt(schemas, path).flatMap((schema) => {
    const { def } = (schema as z.core.$ZodTypes)._zod;
    return def.type === "object" ? Object.keys(def.shape) : [];
  });
  return [...new Set(keys)];
}

/** The schema without what only wraps it, and the options of a union one by one. */
function alternatives(schema: Schema): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "catch":
    case "readonly":
    case "nonoptional":
      return alternatives(def.innerType);
    case "pipe":
      return alternatives(def.in);
    case "lazy":
      return alternatives(def.getter());
    case "union":
      return def.options.flatMap(alternatives);
    case "intersection":
      return [def.left, def.right].flatMap(alternatives);
    default:
      return [schema];
  }
}

function below(schema: Schema, step: string | number): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object": {
      const inner = Object.hasOwn(def.shape, step) ? def.shape[step] : def.catchall;
      return inner === undefined ? [] : [inner];
    }
    case "array":
      return [def.element];
    case "record":
      return [def.valueType];
    case "tuple": {
      const inner = def.items[Number(step)] ?? def.rest;
      return inner === null ? [] : [inner];
    }
    default:
      return [];
  }
}
