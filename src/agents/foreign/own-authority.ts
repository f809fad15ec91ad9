import { isRecord } from "../../ports/parse-json.ts";
import type { ProfileFields, ProfileLimits, WorkspacePolicy } from "../profiles/profile.ts";
import {
  fieldsOfDocument,
  type ProfileDocument,
  profileSchema,
} from "../profiles/profile-schema.ts";
import type { ForeignAgent } from "./agent-file.ts";
import { squashKey } from "./agent-keys.ts";

/** Keys of our own format that restrict, in lower case. */
const ownAuthorityKeys: ReadonlyMap<string, keyof ProfileDocument> = new Map(
  (
    [
      ...["workspace", "limits", "maxTokenBudget", "exit", "scopes", "network"],
      ...["toolRules", "mayDelegate", "servers", "waysOut"],
    ] as (keyof ProfileDocument)[]
  ).map((key) => [squashKey(key), key]),
);

/** Limits of other programs, each with our limit and the factor between them. */
const foreignLimits: ReadonlyMap<string, readonly [keyof ProfileLimits, number]> = new Map([
  ["maxbudgetusd", ["cost", 1]],
  ["maxcostusd", ["cost", 1]],
  ["timeoutseconds", ["timeoutMs", 1000]],
  ["timeoutminutes", ["timeoutMs", 60_000]],
  ["timeoutmins", ["timeoutMs", 60_000]],
  ["maxturns", ["turns", 1]],
  ["maxsteps", ["turns", 1]],
] as const);

export function isOwnAuthority(key: string): boolean {
  return ownAuthorityKeys.has(squashKey(key)) || foreignLimits.has(squashKey(key));
}

export interface OwnAuthority {
  readonly fields: ProfileFields;
  readonly keys: ReadonlySet<string>;
}

/**
 * Reads restrictions in our own keys. They apply as in our own files, or the agent is refused:
 * ignored, they would allow what they forbid.
 */
export function readOwnAuthority({ fields, findings, format, lineOf }: ForeignAgent): OwnAuthority {
  const keys = new Set<string>();
  let own: ProfileFields = {};
  for (const [written, value] of Object.entries(fields)) {
    const key = format === "skill" ? undefined : ownAuthorityKeys.get(squashKey(written));
    if (key === undefined) continue;
    keys.add(written);
    const said = key === "limits" ? toOwnLimits(value) : value;
    const document = profileSchema.safeParse({ [key]: said });
    if (document.success && said !== undefined) {
      own = joinFields(own, fieldsOfDocument(document.data));
      continue;
    }
    const reason = document.error?.issues[0]?.message ?? "it has no value";
    const message = `"${written}" restricts in our own files, and is not understood: ${reason}`;
    findings.refuse(message, lineOf(written));
  }
  return { fields: own, keys };
}

/** Combines fields so that both restrict: the smaller of two limits, and all denials. */
export function joinFields(left: ProfileFields, right: ProfileFields): ProfileFields {
  const limits = joinLimits(left.limits, right.limits);
  const workspace = joinWorkspaces(left.workspace, right.workspace);
  return {
    ...left,
    ...right,
    ...(limits !== undefined && { limits }),
    ...(workspace !== undefined && { workspace }),
    ...((left.servers ?? right.servers) && { servers: { ...left.servers, ...right.servers } }),
  };
}

function joinWorkspaces(
  left: WorkspacePolicy | undefined,
  right: WorkspacePolicy | undefined,
): WorkspacePolicy | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  const isReading = left.allowWrites === false || right.allowWrites === false;
  const checks = [...new Set([...(left.checks ?? []), ...(right.checks ?? [])])];
  return {
    ...right,
    ...left,
    ...(isReading && { allowWrites: false }),
    ...(checks.length > 0 && { checks }),
    ...((left.approval || right.approval) && { approval: true }),
  };
}

function joinLimits(left: ProfileLimits | undefined, right: ProfileLimits | undefined) {
  if (left === undefined || right === undefined) return left ?? right;
  const joined: Record<string, number> = { ...left };
  for (const [key, amount] of Object.entries(right)) {
    joined[key] = Math.min(joined[key] ?? amount, amount);
  }
  return joined as ProfileLimits;
}

function toOwnLimits(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, amount]) => {
      const [own, factor] = foreignLimits.get(squashKey(key)) ?? [];
      if (own === undefined || factor === undefined) return [key, amount];
      const isWhole = own !== "cost" && typeof amount === "number" && amount > 0;
      const scaled = typeof amount === "number" ? amount * factor : amount;
      return [own, isWhole ? Math.max(1, Math.floor(amount * factor)) : scaled];
    }),
  );
}
