import { z } from "zod";
import { inboxKinds } from "../../../events/inbox-item.ts";
import { isEventType } from "../../../events/summarize.ts";
import { headOf } from "../../../text.ts";
import { fieldErrors, invalidRequest } from "../problem.ts";

const place = z
  .string()
  .regex(/^[0-9]{1,15}$/, "a whole number, such as the id of an event")
  .transform(Number);

const after = place.optional().meta({
  description:
    "Only what has a greater id. The header Last-Event-ID wins over it; without either the stream begins with what is new.",
});

/** A list in one parameter: `types=run.started,run.finished`. */
function listOf(isWord: (word: string) => boolean, what: string) {
  return z
    .string()
    .max(2000)
    .transform((text) => text.split(","))
    .refine((words) => words.every(isWord), `${what}, separated by commas`);
}

const flag = z.enum(["0", "1"]).transform((word) => word === "1");
const id = z.string().max(20);

/** The query parameters of `/events`. */
export const eventStreamQuery = z.strictObject({
  after,
  run: id.optional().meta({ description: "Only events of this run." }),
  delegation: id.optional().meta({ description: "Only events of this delegation." }),
  types: listOf(isEventType, "types of events")
    .optional()
    .meta({ description: "Only events of these types, separated by commas." }),
  deltas: flag.optional().meta({
    description: "1: also what models say while they say it, as `delta`, which is never stored.",
  }),
});

const kinds: ReadonlySet<string> = new Set(inboxKinds);

/** The query parameters of `/inbox/events`. */
export const inboxStreamQuery = z.strictObject({
  after,
  run: id.optional().meta({ description: "Only items about this run." }),
  kinds: listOf((word) => kinds.has(word), `kinds of items (${inboxKinds.join(", ")})`)
    .optional()
    .meta({ description: "Only items of these kinds, separated by commas." }),
});

export function readStreamQuery<Query>(request: Request, schema: z.ZodType<Query>): Query {
  const given = new URL(request.url).searchParams;
  const values: Record<string, unknown> = Object.create(null);
  for (const [key, value] of given) {
    if (Object.hasOwn(values, key)) {
      throw invalidRequest([{ field: `query.${headOf(key, 100)}`, message: "is given twice" }]);
    }
    values[key] = value;
  }
  const parsed = schema.safeParse({ ...values });
  if (!parsed.success) throw invalidRequest(fieldErrors("query", parsed.error));
  return parsed.data;
}

/** Where to go on: what a client that comes back says of itself wins over what it once asked for. */
export function readPlace(request: Request, asked: number | undefined): number | undefined {
  const header = request.headers.get("last-event-id")?.trim() ?? "";
  if (header === "") return asked;
  const parsed = place.safeParse(header);
  if (parsed.success) return parsed.data;
  throw invalidRequest([
    { field: "header.last-event-id", message: parsed.error.issues[0]?.message ?? "is no id" },
  ]);
}
