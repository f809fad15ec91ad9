import type { ForeignAgent } from "./foreign-agent.ts";
import type { ReadPolicy } from "./read-model-policy.ts";

const turnKeys = ["maxTurns", "max_turns", "maxSteps", "max_steps", "steps", "turnBudget"];
const millisecondsOfKey: ReadonlyMap<string, number> = new Map([
  ["timeout_mins", 60_000],
  ["timeoutMs", 1],
]);
const longest = 2 ** 31 - 1;

/** How long the agent may work. A limit that cannot be read is refused: without it there is none. */
export function readLimits({ fields, findings, lineOf }: ForeignAgent): ReadPolicy {
  const keys = new Set<string>();
  const read = (key: string, factor: number): number | undefined => {
    const value = fields[key];
    // `steps` can be a list of things to do.
    const isOther = key === "steps" && typeof value === "object" && value !== null;
    if (value === undefined || isOther) return undefined;
    keys.add(key);
    const number = typeof value === "string" ? Number(value.trim() || "none") : value;
    if (typeof number === "number" && number > 0) {
      return Math.min(longest, Math.max(1, Math.floor(number * factor)));
    }
    findings.refuse(`"${key}" must be a number above 0, or be left out`, lineOf(key));
    return undefined;
  };
  const smallest = (values: readonly (number | undefined)[]) => {
    const present = values.filter((value) => value !== undefined);
    return present.length > 0 ? Math.min(...present) : undefined;
  };
  const turns = smallest(turnKeys.map((key) => read(key, 1)));
  const timeoutMs = smallest([...millisecondsOfKey].map(([key, factor]) => read(key, factor)));
  const limits = {
    ...(turns !== undefined && { turns }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  return { fields: Object.keys(limits).length > 0 ? { limits } : {}, keys };
}
