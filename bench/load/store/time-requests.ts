import { MandateClient } from "../../../src/surfaces/client/mandate-client.ts";
import { percentilesOf } from "../percentiles.ts";
import type { Generated } from "./generate.ts";
import type { LargeServer } from "./server.ts";

export interface RequestTime {
  readonly what: string;
  /** The first, and the middle of those after it. */
  readonly firstMs: number;
  readonly ms: number;
}

/** What programs and the page ask of a server with a large home. */
export async function timeRequests(
  { token, url }: LargeServer,
  { largestEvents, largestRun }: Generated,
  times: number,
): Promise<readonly RequestTime[]> {
  const client = new MandateClient({ url, token });
  const { tree } = await client.getRun({ runId: (await small(client)) ?? largestRun });
  if (tree.length === 0) throw new Error("The server shows no delegations.");
  const { items } = await client.listDelegations({ runId: largestRun, limit: 3 });
  const delegationId = items.at(-1)?.delegationId ?? "";
  const runEvents = await client.listRunEvents({ runId: largestRun, limit: 1 });
  const beginning = runEvents.items[0]?.seq ?? 0;
  const last = await lastSeq(client);
  const many = Math.min(20_000, Math.floor(last / 4));
  return [
    await timeOf(times, "GET /runs", () => client.listRuns({ limit: 50 })),
    await timeOf(times, "GET /runs/:largest", () => client.getRun({ runId: largestRun })),
    await timeOf(times, "GET /runs/:largest/events, a page from the middle", () =>
      client.listRunEvents({
        runId: largestRun,
        limit: 200,
        after: beginning + Math.floor(largestEvents / 2),
      }),
    ),
    await timeOf(times, "GET /delegations/:id of the largest", () =>
      client.getDelegation({ delegationId }),
    ),
    await timeOf(times, "GET /delegations/:id/events of the largest", () =>
      client.listDelegationEvents({ delegationId }),
    ),
    await timeOf(times, "GET /delegations/:id/messages of the largest", () =>
      client.listMessages({ delegationId }),
    ),
    await timeOf(times, "GET /inbox", () => client.listInbox({ limit: 50 })),
    await timeOf(times, "GET /sessions", () => client.listSessions({ limit: 50 })),
    await timeOf(times, "stream of everything, from 1,000 events before its end", () =>
      follow(client, { after: last - 1000 }, 1000),
    ),
    await timeOf(times, "stream of the largest run, from its last 1,000 events on", () =>
      follow(client, { runId: largestRun, after: beginning + largestEvents - 1001 }, 1000),
    ),
    await timeOf(times, `stream of everything, ${many} events from the middle`, () =>
      follow(client, { after: Math.floor(last / 2) }, many),
    ),
  ];
}

async function timeOf(
  times: number,
  what: string,
  ask: () => Promise<unknown>,
): Promise<RequestTime> {
  const all: number[] = [];
  for (let count = 0; count <= times; count += 1) {
    const began = performance.now();
    await ask();
    all.push(performance.now() - began);
  }
  const [firstMs = 0, ...others] = all;
  return { what, firstMs, ms: percentilesOf(others).p50 };
}

async function follow(
  client: MandateClient,
  from: { readonly after: number; readonly runId?: string },
  count: number,
): Promise<void> {
  const leaving = new AbortController();
  let heard = 0;
  for await (const _ of client.events({ ...from, signal: leaving.signal })) {
    heard += 1;
    if (heard === count) return leaving.abort();
  }
}

async function small(client: MandateClient): Promise<string | undefined> {
  const { items } = await client.listRuns({ limit: 1, outcome: "succeeded" });
  return items[0]?.runId;
}

/** Found as a client would: by asking a list. */
async function lastSeq(client: MandateClient): Promise<number> {
  const { items } = await client.listRuns({ limit: 1, outcome: "succeeded" });
  const [run] = items;
  if (run === undefined) return 0;
  const { items: events } = await client.listRunEvents({ runId: run.runId, limit: 1 });
  return events[0]?.seq ?? 0;
}
