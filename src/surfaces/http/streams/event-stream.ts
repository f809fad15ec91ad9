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
   * `/events`, `/runs/:runId/events`, `/delegations/:delegationId/events`: everything after a
   * position in the log, filtered, then new events. A position beyond the end is refused: it is
   * from another log, and continuing would silently miss events.
   */
  readonly events: Mount;
  /** `/inbox/events`: the same for the items of the inbox. */
  readonly inbox: Mount;
}

/**
 * The streams of one server; both share one limit per principal. An operator's dashboard with an
 * open stream counts as attending: a person sees questions there and can answer them.
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
      // Another process may have stored the item before this one is notified; its event exists by
      // then.
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
  throw new HttpProblem("unavailable", "Streams need a network connection.");
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
  // `findRun` also finds questions and runs, which are not delegations.
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
    `There is no event ${asked}: the log ends at ${end}, so the position is from another log. Start without Last-Event-ID and "after", or with after=0.`,
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
    throw new HttpProblem("unavailable", "The server is stopping, or the client has disconnected.");
  }
  const connection = new SseConnection(outgoing, signal, clock);
  serve(connection)
    // The store is closed or cannot be read: the client reconnects and gets an error then.
    .catch(() => undefined)
    .finally(release);
  return alreadySent();
}

/**
 * Tells the adapter that the stream writes to the connection itself, since only the connection
 * shows whether a client reads. `RESPONSE_ALREADY_SENT` of the adapter works only when it was
 * loaded before the server was created, so this makes an own one.
 */
function alreadySent(): Response {
  const response = new Response(null, { headers: { "x-hono-already-sent": "true" } });
  // The adapter's Response class uses a cache without this header until its body is read.
  void response.body;
  return response;
}

/** Limits the open streams, per principal and in total. */
class StreamSlots {
  readonly #limits: Pick<StreamLimits, "perPrincipal" | "all">;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: Pick<StreamLimits, "perPrincipal" | "all">) {
    this.#limits = limits;
  }

  /** Takes a slot; returns the function that releases it. */
  take(principal: string): () => void {
    const open = this.#open.get(principal) ?? 0;
    const { perPrincipal, all } = this.#limits;
    if (open >= perPrincipal) {
      throw tooMany(`You have ${open} open streams, which is the limit. Close one first.`);
    }
    if (this.#all >= all) {
      throw tooMany(
        `This server has ${this.#all} open streams, which is the limit. Try again later.`,
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
    "Only events with a greater id. The header Last-Event-ID takes precedence; without either the stream begins with new events.",
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
    description:
      "1: also model output while it is generated, as `delta` events, which are never stored.",
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

/**
 * The position to continue from: the header of a reconnecting client wins over its original query.
 */
function readPlace(request: Request, asked: number | undefined): number | undefined {
  const header = request.headers.get("last-event-id")?.trim() ?? "";
  if (header === "") return asked;
  const parsed = place.safeParse(header);
  if (parsed.success) return parsed.data;
  throw invalidRequest([
    { field: "header.last-event-id", message: parsed.error.issues[0]?.message ?? "is not an id" },
  ]);
}
