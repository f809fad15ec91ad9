import { z } from "zod";
import type { LimitScope, UsageLimit } from "../../contracts/usage-limit.ts";
import { wholeBillionths } from "../../ports/dollars.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ControlRecord, RecordStore } from "../../ports/record-store.ts";
import { quote } from "./shown-text.ts";

/** Limits on model requests, as records: one for each scope, of the type `limit`. */
const limitType = "limit";

const most = z.int().min(1).max(1_000_000_000);

export const limitValue = z
  .strictObject({
    concurrency: most.optional().meta({ description: "Model requests at the same time." }),
    requestsPerMinute: most.optional().meta({ description: "In any sixty seconds." }),
    tokensPerMinute: most.optional().meta({
      description:
        "In any sixty seconds: the most that each request may use, then what it used. A larger request is made alone.",
    }),
    dollarsPerDay: z.number().positive().max(1_000_000).optional().meta({
      description: "From midnight to midnight UTC. For the scope `tenant` only.",
    }),
  })
  .refine((value) => Object.values(value).some((one) => one !== undefined), "sets no limit");

export type LimitValue = z.infer<typeof limitValue>;

const limitScope = z
  .string()
  .regex(
    /^(?:tenant|(?:queue|provider)\/[A-Za-z0-9][\w.-]{0,63})$/,
    "tenant, queue/NAME or provider/NAME",
  )
  .transform((scope) => scope as LimitScope);

export interface StoredLimit {
  readonly scope: LimitScope;
  readonly value: LimitValue;
  readonly version: number;
  readonly setBy: string;
  readonly setAt: number;
}

type LimitStore = Pick<RecordStore, "changeRecords" | "listRecords">;

/** A record that this version cannot read is an error: no request is made under unknown limits. */
export async function readLimits(
  store: Pick<RecordStore, "listRecords">,
): Promise<readonly StoredLimit[]> {
  return (await store.listRecords(limitType)).map(storedLimitOf);
}

function storedLimitOf(record: ControlRecord): StoredLimit {
  const { resourceId, updatedAt, updatedBy, value, version } = record;
  const scope = limitScope.safeParse(resourceId);
  const parsed = limitValue.safeParse(value);
  if (!scope.success || !parsed.success) {
    throw new MandateError(
      "config-invalid",
      `The stored limit ${quote(resourceId)} cannot be read: it is damaged, or a newer version wrote it.`,
    );
  }
  return {
    ...{ scope: scope.data, value: parsed.data, version },
    ...{ setBy: updatedBy, setAt: updatedAt },
  };
}

/** The numbers as they are enforced. */
export function usageLimitOf({ scope, value }: StoredLimit): UsageLimit {
  const { dollarsPerDay, ...others } = value;
  const costPerDay = dollarsPerDay === undefined ? undefined : wholeBillionths(dollarsPerDay);
  return { scope, ...others, costPerDay };
}

export async function writeLimit(
  store: LimitStore,
  {
    expectedVersion,
    scope: asked,
    value: given,
  }: { readonly scope: string; readonly value: unknown; readonly expectedVersion: number },
  actor: string,
): Promise<StoredLimit> {
  const scope = parse(limitScope, asked, "scope");
  const value = parse(limitValue, given, "limit");
  if (value.dollarsPerDay !== undefined && scope !== "tenant") {
    throw new MandateError(
      "usage",
      `dollarsPerDay is a limit of the whole tenant, not of ${scope}: set it with the scope tenant.`,
    );
  }
  const change = { resourceType: limitType, resourceId: scope, expectedVersion, value };
  const [record] = await store.changeRecords([change], actor);
  if (!record) throw new Error("a stored limit has no record");
  return storedLimitOf(record);
}

export async function deleteLimit(
  store: LimitStore,
  asked: string,
  expectedVersion: number,
  actor: string,
): Promise<void> {
  const scope = parse(limitScope, asked, "scope");
  const change = { resourceType: limitType, resourceId: scope, expectedVersion, value: null };
  await store.changeRecords([change], actor);
}

function parse<Value>(schema: z.ZodType<Value>, given: unknown, what: string): Value {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || what;
  throw new MandateError("usage", `${where}: ${issue?.message ?? "invalid"}.`);
}
