import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { readSse } from "./follow-stream.ts";
import { MandateApiError, MandateClient } from "./mandate-client.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A server that answers as the test says, and remembers what it was asked. */
async function serve(answer: (seen: Seen, response: ServerResponse, count: number) => void) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { headers, method, url } = request;
    seen.push({ method, url, headers, body });
    answer({ method, url, headers, body }, response, seen.length);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { seen, client: new MandateClient({ url: `http://127.0.0.1:${port}/`, token: "t" }) };
}

const started = { runId: "r123456", delegationId: "123456", url: "", result: null };

describe("a client", () => {
  it("needs nothing that a browser does not have", () => {
    const found = new Set<string>();
    const visit = (file: string): void => {
      if (found.has(file)) return;
      found.add(file);
      const text = readFileSync(join(import.meta.dirname, file), "utf8");
      const imports = text.matchAll(/^(?:import|export) (?!type )[^;]*? from "([^"]+)";$/gm);
      for (const [statement, path = ""] of imports) {
        expect([file, statement, path]).toEqual([
          file,
          statement,
          expect.stringMatching(/^\.\/[\w-]+\.ts$/),
        ]);
        visit(path);
      }
    };
    visit("mandate-client.ts");
    expect(found.size).toBeGreaterThan(3);
  });

  it("puts what is said into path, query and body, and says who it is", async () => {
    const { client, seen } = await serve((_, response) => response.end("{}"));
    await client.getAgent({ agentId: "@writer" });
    await client.listInbox({ kinds: ["ask", "plan"], openOnly: true, limit: 3, cursor: undefined });
    await client.startRun({ task: "é" });
    await client.replayRun({ runId: "r123456" });
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "GET /api/v1/agents/%40writer",
      "GET /api/v1/inbox?kinds=ask%2Cplan&openOnly=true&limit=3",
      "POST /api/v1/runs",
      "POST /api/v1/runs/r123456/replay",
    ]);
    expect(seen.map(({ body }) => body)).toEqual(["", "", '{"task":"é"}', ""]);
    expect(seen[0]?.headers["authorization"]).toBe("Bearer t");
    expect(seen[3]?.headers["content-type"]).toBeUndefined();
    // What is missing is noticed before anything is sent.
    await expect(client.getRun({ runId: "" })).rejects.toThrow('"runId" is missing');
  });

  it("sends a POST that was lost again under the same key, and another one under another", async () => {
    const { client, seen } = await serve((_, response, count) => {
      if (count < 3) response.destroy();
      else response.end(JSON.stringify(started));
    });
    expect(await client.startRun({ task: "x" })).toEqual(started);
    await client.startRun({ task: "x" });
    const keys = seen.map(({ headers }) => headers["idempotency-key"]);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[3]).not.toBe(keys[0]);
  });

  it("does not repeat what could be done twice, nor what was refused", async () => {
    const lost = await serve((_, response) => response.destroy());
    await expect(lost.client.putRegistry({ value: {}, expectedVersion: 1 })).rejects.toThrow(
      "fetch failed",
    );
    await expect(lost.client.createToken({ name: "a", role: "viewer" })).rejects.toThrow();
    expect(lost.seen).toHaveLength(2);
    const problem = { status: 404, code: "unknown-run", title: "", type: "", detail: "None." };
    const refusing = await serve((_, response) => {
      response.writeHead(404, { "content-type": "application/problem+json" });
      response.end(JSON.stringify(problem));
    });
    const call = refusing.client.getRun({ runId: "r123456" });
    await expect(call).rejects.toMatchObject({ status: 404, code: "unknown-run", problem });
    await expect(call).rejects.toBeInstanceOf(MandateApiError);
    expect(refusing.seen).toHaveLength(1);
    const strange = await serve((_, response) => response.writeHead(418).end("<html>"));
    await expect(strange.client.getHealth()).rejects.toMatchObject({ code: "http-418" });
  });

  it("waits where it was too fast", async () => {
    const { client, seen } = await serve((_, response, count) => {
      if (count > 1) return response.end("{}");
      const problem = { status: 429, code: "too-many-requests", detail: "Slower." };
      return response.writeHead(429).end(JSON.stringify(problem));
    });
    await client.putPin({ scope: "global", profileId: "x", expectedVersion: 0 });
    expect(seen).toHaveLength(2);
  });

  it("waits for a run in as many requests as it takes", async () => {
    const { client, seen } = await serve((_, response, count) =>
      response.end(JSON.stringify({ state: count < 3 ? "running" : "succeeded" })),
    );
    expect(await client.waitFor("r123456")).toMatchObject({ state: "succeeded" });
    expect(seen.map(({ url }) => url)).toEqual(Array(3).fill("/api/v1/runs/r123456?wait=25000"));
  });
});

const frame = (seq: number): string =>
  `id: ${seq}\nevent: run.started\ndata: ${JSON.stringify({ seq })}\n\n`;

describe("a stream of events", () => {
  it("goes on after the last one that was given, without gaps or repetitions", async () => {
    const last = 12;
    const { client, seen } = await serve(({ headers }, response, count) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const from = Number(headers["last-event-id"]);
      response.write(`retry: 1000\nid: ${from}\n\n`);
      // One that is sent again, as after a restart; then some new ones, the last of them cut.
      if (count > 1) response.write(frame(from));
      response.write(": still here\n\n");
      for (let seq = from + 1; seq <= Math.min(from + 4, last); seq++) response.write(frame(seq));
      response.write(frame(from + 5).slice(0, 20 + count * 3), () => response.destroy());
    });
    const given: number[] = [];
    for await (const { seq } of client.events({ after: 0, runId: "r123456" })) {
      given.push(seq);
      if (seq === last) break;
    }
    expect(given).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    expect(seen.map(({ headers }) => headers["last-event-id"])).toEqual(["0", "4", "8"]);
    expect(new Set(seen.map(({ url }) => url))).toEqual(new Set(["/api/v1/events?run=r123456"]));
  });

  it("that began with what is new goes on from where it began, also when nothing came", async () => {
    const { client, seen } = await serve((_, response, count) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("retry: 1000\nid: 41\n\n");
      if (count === 1) setTimeout(() => response.destroy(), 20);
      else response.write(frame(42));
    });
    for await (const { seq } of client.events()) {
      expect(seq).toBe(42);
      break;
    }
    expect(seen.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "41"]);
  });

  it("of a run or a delegation begins at its beginning, and is over when that is", async () => {
    const told = (seq: number, type: string): string =>
      `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, type })}\n\n`;
    const { client, seen } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: 0\n\n${told(1, "run.started")}${told(2, "agent.subagent_closed")}`);
      response.write(`${told(3, "run.finished")}${told(4, "session.renamed")}`);
    });
    const seqs = async (events: AsyncIterable<{ readonly seq: number }>): Promise<number[]> => {
      const given: number[] = [];
      for await (const { seq } of events) given.push(seq);
      return given;
    };
    expect(await seqs(client.events({ runId: "r123456" }))).toEqual([1, 2, 3]);
    // What it ends with is asked for, and given to nobody who did not.
    expect(await seqs(client.events({ runId: "r123456", types: ["run.started"] }))).toEqual([1]);
    expect(await seqs(client.events({ delegationId: "123456" }))).toEqual([1, 2]);
    expect(seen.map(({ headers }) => headers["last-event-id"])).toEqual(["0", "0", "0"]);
    expect(seen[1]?.url).toBe("/api/v1/events?run=r123456&types=run.started%2Crun.finished");
    // Whoever names a place wants what comes after it, without an end.
    const places: number[] = [];
    for await (const { seq } of client.events({ runId: "r123456", after: 0 })) {
      places.push(seq);
      if (seq === 4) break;
    }
    expect(places).toEqual([1, 2, 3, 4]);
  });

  it("gives text that models write to onDelta, which moves no place", async () => {
    const { client, seen } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const delta = { run_id: "r123456", sub_agent_id: "4f2a11", text: "Half a " };
      response.write(`id: 41\n\nevent: delta\ndata: ${JSON.stringify(delta)}\n\n${frame(42)}`);
    });
    const heard: unknown[] = [];
    for await (const { seq } of client.events({ onDelta: (delta) => heard.push(delta) })) {
      expect(seq).toBe(42);
      break;
    }
    expect(heard).toEqual([{ runId: "r123456", delegationId: "4f2a11", text: "Half a " }]);
    expect(seen.map(({ url }) => url)).toEqual(["/api/v1/events?deltas=1"]);
  });

  it("is not begun with an option that nobody knows", async () => {
    const { client, seen } = await serve((_, response) => response.end("{}"));
    const wrong = { runID: "r123456" } as object;
    const sentence = '"runID" is not known here. It takes: after, runId';
    await expect(client.events(wrong).next()).rejects.toThrow(`events: ${sentence}`);
    await expect(client.inboxEvents(wrong).next()).rejects.toThrow(`inboxEvents: ${sentence}`);
    const options = { url: "http://127.0.0.1:1", tokn: "t" };
    expect(() => new MandateClient(options)).toThrow('MandateClient: "tokn" is not known here.');
    expect(seen).toEqual([]);
  });

  it("ends when nobody wants it any more, and throws what the server refuses", async () => {
    const { client } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: 1\n\n${frame(2)}`);
    });
    const ending = new AbortController();
    const given: number[] = [];
    for await (const { seq } of client.events({ after: 1, signal: ending.signal })) {
      given.push(seq);
      ending.abort();
    }
    expect(given).toEqual([2]);
    const refusing = await serve((_, response) => {
      response.writeHead(401).end(JSON.stringify({ detail: "Who?", code: "unauthenticated" }));
    });
    await expect(refusing.client.events().next()).rejects.toMatchObject({ status: 401 });
    const nobody = new MandateClient({ url: "http://127.0.0.1:1" });
    await expect(nobody.events().next()).rejects.toThrow();
  });

  it("is read alike however it is cut into pieces", async () => {
    const messages = fc.array(fc.record({ id: fc.nat(), text: fc.string({ unit: "grapheme" }) }), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(
        messages,
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        fc.constantFrom("\n", "\r\n", "\r"),
        async (said, sizes, end) => {
          const lines = said.flatMap(({ id, text }) => [
            ": heartbeat",
            `id: ${id}`,
            `data: ${JSON.stringify(text)}`,
            "",
          ]);
          // A last line that shows that the message before it is over.
          const bytes = new TextEncoder().encode([...lines, ": end"].join(end));
          const body = new ReadableStream<Uint8Array>({
            start(controller) {
              for (let at = 0; at < bytes.length; ) {
                const { value: size = 1 } = sizes.next();
                controller.enqueue(bytes.slice(at, at + size));
                at += size;
              }
              controller.close();
            },
          });
          const read = [];
          for await (const { data, id } of readSse(body)) {
            read.push({ id: Number(id), text: JSON.parse(data ?? "null") });
          }
          expect(read).toEqual(said);
        },
      ),
      { numRuns: cases(200) },
    );
  });

  it("gives up on a message that does not end, instead of keeping all of it", async () => {
    const line = new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}\n`);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++;
        controller.enqueue(line);
      },
    });
    await expect(readSse(body).next()).rejects.toThrow(/longer than 67108864 characters/);
    expect(sent).toBeLessThan(70);
  });
});
