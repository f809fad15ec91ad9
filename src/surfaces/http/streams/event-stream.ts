import type { ServerResponse } from "node:http";
import { z } from "zod";
import { holdsRole, type Principal } from "../../../control/records/principal.ts";
import { inboxKinds } from "../../../events/inbox-item.ts";
import { isEventType } from "../../../events/summarize.ts";
import type { Clock } from "../../../ports/clock.ts";
import { controlRunId } from "../../../ports/identity.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { headOf } from "../../../text.ts";
import type { Mount, MountContext } from "../mount.ts";
import { fieldErrors, HttpProblem, invalidRequest } from "../problem.ts";
import type { EventHub } from "./event-hub.ts";
import { SseConnection } from "./sse-client.ts";
import type { StreamFilter, StreamLimits, StreamRequest } from "./sse-feed.ts";

export interface EventStreams {
  /**
   * `/events`, `/runs/:runId/events`, `/delegations/:delegationId/events`: the exact suffix of the
   * log after a place, filtered, and then whatever happens. A place that the log never had is
   * refused: it is another log's, and going on from anywhere would miss something in silence.
   */
  readonly events: Mount;
  /** `/inbox/events`: the items of the inbox in the same way. */
  readonly inbox: Mount;
}

/**
 * The streams of one server. Both count towards what one principal may have open. A page that listens
 * to one attends: whoever looks at it sees questions, and can answer them if their role allows it.
 */
export function eventStreams(hub: EventHub, attend?: () => () => void): EventStreams {
  const { clock } = hub;
  const slots = new StreamSlots(hub.limits);
  const take = (principal: Principal, { isPage }: MountContext): (() => void) => {
    const release = slots.take(principal.id);
    const leave = isPage && holdsRole("operator", principal) ? attend?.() : undefined;
    return () => {
      leave?.();
      release();
    };
  };
  return {
    async events(request, principal, context) {
      const outgoing = connectionOf(context);
      const query = readStreamQuery(request, eventStreamQuery);
      const filter = {
        principal,
        runId: context.params["runId"] ?? query.run,
        delegationId: context.params["delegationId"] ?? query.delegation,
        types: query.types && new Set(query.types),
      };
      await requireKnown(hub, filter);
      const asked = readPlace(request, query.after);
      const end = await hub.eventsEnd();
      if (asked !== undefined && asked > end && !(await hub.hasEvent(asked))) {
        throw beyondTheEnd(asked, end);
      }
      const stream = { after: asked ?? end, filter, wantsDeltas: query.deltas === true };
      return open(take(principal, context), outgoing, { ...context, clock }, (connection) =>
        hub.serveEvents(stream, connection),
      );
    },
    async inbox(request, principal, context) {
      const outgoing = connectionOf(context);
      const query = readStreamQuery(request, inboxStreamQuery);
      await requireKnown(hub, { principal, runId: query.run });
      const asked = readPlace(request, query.after);
      const end = await hub.inboxEnd();
      // Somebody else's item may be stored before we hear of it; its event is, too.
      if (asked !== undefined && asked > end && !(await hub.hasEvent(asked))) {
        throw beyondTheEnd(asked, end);
      }
      const filter = { principal, runId: query.run, types: query.kinds && new Set(query.kinds) };
      const stream: StreamRequest = { after: asked ?? end, filter, wantsDeltas: false };
      return open(take(principal, context), outgoing, { ...context, clock }, (connection) =>
        hub.inbox.serve(stream, connection),
      );
    },
  };
}

function connectionOf({ outgoing }: MountContext): ServerResponse {
  if (outgoing !== undefined) return outgoing;
  throw new HttpProblem("unavailable", "Streams need a connection of their own.");
}

async function requireKnown(
  hub: EventHub,
  { delegationId, principal, runId }: Omit<StreamFilter, "types">,
): Promise<void> {
  const isNamed = runId !== undefined && runId !== controlRunId;
  if (isNamed && (await hub.findRun(runId, principal)) !== runId) {
    throw new MandateError("unknown-run", `There is no run ${headOf(runId, 40)}.`);
  }
  if (delegationId === undefined) return;
  const run = await hub.findRun(delegationId, principal);
  // Questions and runs are found in the same way, and are no delegations.
  if (run === undefined || !/^[0-9a-f]/.test(delegationId)) {
    throw new MandateError(
      "unknown-delegation",
      `There is no delegation ${headOf(delegationId, 40)}.`,
    );
  }
}

function beyondTheEnd(asked: number, end: number): HttpProblem {
  return new HttpProblem(
    "request-invalid",
    `There is no event ${asked}: the log ends at ${end}, so that number is of another log. Begin again without Last-Event-ID and "after", or with after=0.`,
  );
}

function open(
  release: () => void,
  outgoing: ServerResponse,
  { signal, clock }: MountContext & { readonly clock: Clock },
  serve: (connection: SseConnection) => Promise<void>,
): Response {
  if (signal.aborted) {
    release();
    throw new HttpProblem("unavailable", "The server stops, or the client is gone.");
  }
  const connection = new SseConnection(outgoing, signal, clock);
  serve(connection)
    // The store was closed, or cannot be read: the client comes back and is told then.
    .catch(() => undefined)
    .finally(release);
  return alreadySent();
}

/**
 * Tells the adapter that we write to the connection ourselves, since only there it shows whether a
 * client takes what it is sent. `RESPONSE_ALREADY_SENT` of the adapter is shared by all requests and
 * works only where it was loaded before a server was made; this one is as good, always.
 */
function alreadySent(): Response {
  const response = new Response(null, { headers: { "x-hono-already-sent": "true" } });
  // The adapter's own class answers from a cache, which knows nothing of this, until it is read.
  void response.body;
  return response;
}

/** How many streams are open, and whose. */
class StreamSlots {
  readonly #limits: Pick<StreamLimits, "perPrincipal" | "all">;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: Pick<StreamLimits, "perPrincipal" | "all">) {
    this.#limits = limits;
  }

  /** Gives what gives the place back. */
  take(principal: string): () => void {
    const open = this.#open.get(principal) ?? 0;
    const { perPrincipal, all } = this.#limits;
    if (open >= perPrincipal) {
      throw tooMany(`You have ${open} streams open, which is the most. Close one first.`);
    }
    if (this.#all >= all) {
      throw tooMany(
        `This server has ${this.#all} streams open, which is the most. Try again later.`,
      );
    }
    this.#open.set(principal, open + 1);
    this.#all++;
    return () => {
      const left = (this.#open.get(principal) ?? 1) - 1;
      if (left === 0) this.#open.delete(principal);
      else this.#open.set(principal, left);
      this.#all--;
    };
  }
}

function tooMany(detail: string): HttpProblem {
  return new HttpProblem("too-many-requests", detail, { headers: { "retry-after": "5" } });
}

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
const eventStreamQuery = z.strictObject({
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
const inboxStreamQuery = z.strictObject({
  after,
  run: id.optional().meta({ description: "Only items about this run." }),
  kinds: listOf((word) => kinds.has(word), `kinds of items (${inboxKinds.join(", ")})`)
    .optional()
    .meta({ description: "Only items of these kinds, separated by commas." }),
});

function readStreamQuery<Query>(request: Request, schema: z.ZodType<Query>): Query {
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
function readPlace(request: Request, asked: number | undefined): number | undefined {
  const header = request.headers.get("last-event-id")?.trim() ?? "";
  if (header === "") return asked;
  const parsed = place.safeParse(header);
  if (parsed.success) return parsed.data;
  throw invalidRequest([
    { field: "header.last-event-id", message: parsed.error.issues[0]?.message ?? "is no id" },
  ]);
}
