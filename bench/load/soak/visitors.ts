import { setTimeout as delay } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { MandateApiError, MandateClient } from "../../../src/surfaces/client/mandate-client.ts";
import { kinds } from "./cast.ts";
import type { Listening } from "./server.ts";

export interface Visits {
  readonly done: Record<string, number>;
  readonly failures: string[];
}

const mostAtOnce = 10;

/** Everybody who uses the server, each at a steady pace, until the signal says that it is enough. */
export async function visit(
  { token, url }: Listening,
  signal: AbortSignal,
  paceMs: number,
): Promise<Visits> {
  const client = new MandateClient({ url, token });
  const visits: Visits = { done: {}, failures: [] };
  const recent: string[] = [];
  let lastSeq = 0;

  const every = async (name: string, ms: number, once: (round: number) => Promise<void>) => {
    const open = new Set<Promise<void>>();
    for (let round = 0; !signal.aborted; round += 1) {
      // On a machine that is slow for a while nobody piles up: that would look like growth.
      if (open.size >= mostAtOnce) await Promise.race(open);
      const one = once(round)
        .then(() => {
          visits.done[name] = (visits.done[name] ?? 0) + 1;
        })
        .catch((error) => {
          if (!signal.aborted) visits.failures.push(`${name}: ${wordsOf(error)}`);
        })
        .finally(() => open.delete(one));
      open.add(one);
      await delay(ms, undefined, { signal }).catch(() => undefined);
    }
    await Promise.all(open);
  };

  const start = async (task: string, more: { timeout?: number; profile?: string } = {}) => {
    const { runId } = await client.startRun({ task, profile: "lead", ...more });
    recent.push(runId);
    if (recent.length > 50) recent.shift();
    return runId;
  };

  const runWork = async (round: number): Promise<void> => {
    const kind = kinds[round % kinds.length] ?? "survey";
    const runId = await start(`${kind} ${round}`);
    if (kind === "ask") await answer(client, runId);
    const { state } = await client.waitFor(runId);
    if (state !== "succeeded") throw new Error(`${kind} ${round} is ${state} (${runId})`);
  };

  const cancelWork = async (round: number): Promise<void> => {
    const runId = await start(`slow ${round}`);
    await delay(200);
    await client.cancelRun({ runId, reason: "Enough." });
    await client.waitFor(runId);
  };

  const beLate = async (round: number): Promise<void> => {
    const runId = await start(`slow and late ${round}`, { timeout: 300 });
    const { state } = await client.waitFor(runId);
    if (state !== "failed") throw new Error(`late ${round} is ${state}`);
  };

  /** Comes, reads what it missed and what is new, and goes without a word. */
  const followEvents = async (round: number): Promise<void> => {
    const leaving = AbortSignal.any([signal, AbortSignal.timeout(1000 + ((round * 731) % 8000))]);
    const runId = round % 3 === 0 ? recent.at(-1) : undefined;
    const after = round % 2 === 0 ? Math.max(0, lastSeq - 500) : undefined;
    try {
      for await (const { seq } of client.events({ after, runId, signal: leaving })) lastSeq = seq;
    } catch (error) {
      if (!leaving.aborted) throw error;
    }
  };

  const followInbox = async (): Promise<void> => {
    const leaving = AbortSignal.any([signal, AbortSignal.timeout(4000)]);
    try {
      for await (const _ of client.inboxEvents({ signal: leaving })) if (leaving.aborted) break;
    } catch (error) {
      if (!leaving.aborted) throw error;
    }
  };

  const openPages = async (round: number): Promise<void> => {
    const runId = recent[round % Math.max(recent.length, 1)];
    await (await fetch(`${url}/runs`)).arrayBuffer();
    await client.listRuns({ limit: 50 });
    await client.listInbox({ limit: 20 });
    await client.listSessions({ limit: 20 });
    if (runId === undefined) return;
    const { tree } = await client.getRun({ runId });
    await client.listRunEvents({ runId, limit: 200 });
    const [{ delegationId } = { delegationId: undefined }] = tree;
    if (delegationId === undefined) return;
    await client.getDelegation({ delegationId });
    await client.listMessages({ delegationId });
    const metrics = await fetch(`${url}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await metrics.arrayBuffer();
  };

  const callTools = async (round: number): Promise<void> => {
    const mcp = new Client(
      { name: "soak", version: "1.0.0" },
      { versionNegotiation: { mode: round % 2 === 0 ? "legacy" : "auto" } },
    );
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    await mcp.connect(transport);
    try {
      await mcp.listTools();
      const input = { profile: "worker", task: `look ${round}` };
      const { isError } = await mcp.callTool({ name: "delegate_task", arguments: input });
      if (isError === true) throw new Error("delegate_task gave an error");
    } finally {
      // One in ten leaves without saying so.
      if (round % 10 !== 9) await transport.terminateSession().catch(() => undefined);
      await mcp.close();
    }
  };

  await Promise.all([
    every("runs", paceMs, runWork),
    every("cancels", paceMs * 8, cancelWork),
    every("timeouts", paceMs * 8, beLate),
    every("streams", paceMs * 2, followEvents),
    every("inbox streams", paceMs * 8, followInbox),
    every("pages", paceMs * 4, openPages),
    every("MCP clients", paceMs * 5, callTools),
  ]);
  return visits;
}

async function answer(client: MandateClient, runId: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { items } = await client.listInbox({ runId, openOnly: true });
    const ask = items.find(({ ask: asked }) => asked !== undefined)?.ask;
    if (ask !== undefined) {
      await client.answerAsk({ askId: ask.id, text: "Blue." });
      return;
    }
    await delay(100);
  }
  throw new Error(`${runId} asked nothing`);
}

function wordsOf(error: unknown): string {
  if (error instanceof MandateApiError) return `${error.name} ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
