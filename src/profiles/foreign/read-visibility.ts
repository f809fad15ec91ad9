import type { Capability, ProfileFields } from "../profile.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import type { ReadPolicy } from "./read-model-policy.ts";

const capabilitiesOfMode: ReadonlyMap<unknown, readonly Capability[]> = new Map([
  ["primary", ["primary"]],
  ["subagent", ["subtask"]],
  ["all", ["primary", "subtask"]],
] as const);

/** Who sees the agent and how it can be used. What switches it off does so in any spelling. */
export function readVisibility({ fields, findings, lineOf }: ForeignAgent): ReadPolicy {
  const keys = new Set<string>();
  const says = (wanted: boolean, names: readonly string[]): boolean => {
    const present = names.filter((name) => fields[name] !== undefined);
    for (const name of present) keys.add(name);
    return present.some((name) => isNo(fields[name]) !== wanted);
  };
  const isDisabled = says(true, ["disable", "disabled"]) || says(false, ["enabled"]);
  const isHidden =
    says(true, ["hidden", "disable-model-invocation", "disableModelInvocation"]) ||
    says(false, ["infer"]);
  const isOnlySubtask = says(false, ["user-invocable", "user-invokable"]);
  const { mode } = fields;
  const capabilities = isOnlySubtask ? (["subtask"] as const) : capabilitiesOfMode.get(mode);
  if (capabilitiesOfMode.has(mode)) keys.add("mode");
  else if (mode !== undefined) findings.warn('"mode" is not one that is known', lineOf("mode"));
  const visibility: ProfileFields = {
    ...(capabilities !== undefined && { capabilities }),
    ...(isHidden && { hidden: true }),
    ...(isDisabled && { disabled: true }),
  };
  return { fields: visibility, keys };
}

function isNo(value: unknown): boolean {
  return value === false || (typeof value === "string" && /^(?:false|no|off)$/i.test(value.trim()));
}
