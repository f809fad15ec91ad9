import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { AccessTokens, installationToken } from "../../src/control/access/access-tokens.ts";
import { serveRuntime } from "../../src/surfaces/http/serve-runtime.ts";
import { json, openServer, type TestServer } from "../../src/surfaces/http/server.test-support.ts";
import { openEngine } from "../../src/testing/engine-fixture.ts";
import { median } from "../run/report.ts";
import { type Bar, clockTime, ratio } from "./bar.ts";

const rate = { perSecond: 1e6, burst: 1e6 };
const path = "/api/v1/things";
const chunked = { "content-length": undefined, "transfer-encoding": "chunked" };
const megabyte = 1024 * 1024;
const fiftyMegabytes = () => Buffer.alloc(50 * megabyte, "a");
const accepted = Buffer.from(JSON.stringify({ name: "x".repeat(900_000) }));

async function send(http: TestServer, status: number, sent: object = {}): Promise<void> {
  const received = await http.send({ path, ...sent });
  if (received.status !== status) throw new Error(`The server answered ${received.status}.`);
}

async function post(
  http: TestServer,
  body: Buffer,
  status: number,
  headers: object = {},
): Promise<void> {
  // A connection of its own: the server closes it after a refusal.
  const all = { ...json, connection: "close", ...headers };
  try {
    await send(http, status, { method: "POST", headers: all, body });
  } catch (error) {
    // On a busy machine a client that still writes may notice that before it reads the answer.
    const { code } = error as NodeJS.ErrnoException;
    if (status !== 413 || (code !== "EPIPE" && code !== "ECONNRESET")) throw error;
  }
}

/** Microseconds that an ordinary request takes, the median of some. */
async function timeOfOthers(http: TestServer, count = 20): Promise<number> {
  const times: number[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    times.push(await clockTime(() => send(http, 200)));
  }
  return median(times);
}

/** What large and slow clients cost the server and others, and how soon events arrive. */
export const httpBars: readonly Bar[] = [
  ...[{}, chunked].map(
    (headers): Bar => ({
      name: `http: a body of 50 MB is refused, ${headers === chunked ? "in chunks" : "by its length"}`,
      about: "its request over one with 0.9 MB that is accepted",
      atMost: 3,
      async measure() {
        await using http = await openServer({ rate });
        const large = fiftyMegabytes();
        return await ratio(
          () => post(http, large, 413, headers),
          () => post(http, accepted, 201, headers),
        );
      },
    }),
  ),
  {
    name: "http: others while bodies of 50 MB are refused",
    about: "time of their requests over that beside a body of 0.9 MB that is accepted",
    atMost: 3,
    async measure() {
      await using http = await openServer({ rate });
      const large = fiftyMegabytes();
      const beside = async (work: Promise<unknown>): Promise<number> => {
        const [other] = await Promise.all([clockTime(() => send(http, 200)), work]);
        return other;
      };
      const ratios: number[] = [];
      for (let round = 0; round < 30; round += 1) {
        const headers = round % 2 === 0 ? {} : chunked;
        const below = await beside(post(http, accepted, 201, headers));
        ratios.push((await beside(post(http, large, 413, headers))) / below);
      }
      return median(ratios.slice(5));
    },
  },
  {
    name: "http: a body that unpacks to 100 MB is refused",
    about: "its request over one with as many bytes that are not packed",
    atMost: 3,
    async measure() {
      await using http = await openServer({ rate });
      const bomb = gzipSync(Buffer.alloc(100 * megabyte));
      const packed = { "content-encoding": "gzip" };
      const plain = { "content-type": "text/plain" };
      return await ratio(
        () => post(http, bomb, 415, packed),
        () => post(http, bomb, 415, plain),
      );
    },
  },
  {
    name: "http: others while 40 clients send a byte now and then",
    about: "time of their requests over that without",
    atMost: 4,
    async measure() {
      await using http = await openServer({ rate });
      await timeOfOthers(http, 50);
      const ratios: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        const alone = await timeOfOthers(http);
        const clients = Array.from({ length: 40 }, () => {
          const socket = http.socket().on("error", () => undefined);
          socket.write("GET / HTTP/1.1\r\n");
          const drip = setInterval(() => void socket.write("X: y\r\n"), 60);
          return () => {
            clearInterval(drip);
            socket.destroy();
          };
        });
        await delay(100);
        ratios.push((await timeOfOthers(http)) / alone);
        for (const leave of clients) leave();
      }
      return median(ratios);
    },
  },
  {
    name: "http: an event after its commit",
    about: "until a client has it over a small request",
    atMost: 20,
    measure: measureStream,
  },
];

async function measureStream(): Promise<number> {
  await using engine = await openEngine({ model: () => ({ text: "done" }) });
  const file = join(engine.home, "tokens", "local");
  const tokens = new AccessTokens(engine.store, file);
  const headers = { authorization: `Bearer ${installationToken(file)}` };
  const host = { runtime: engine, tokens, workspaces: [engine.workspace], startedAt: 0 };
  const server = await serveRuntime({ host, port: 0, log: () => undefined });
  try {
    const stream = await fetch(`${server.url}/api/v1/events`, { headers });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const committedAt = new Map<string, number>();
    const stop = engine.store.subscribe((events) => {
      for (const { seq } of events) committedAt.set(String(seq), performance.now());
    });
    const [delays, requests]: [number[], number[]] = [[], []];
    const reading = (async () => {
      for (;;) {
        const { done, value = "" } = (await reader?.read()) ?? { done: true };
        if (done) return;
        for (const [, seq = ""] of value.matchAll(/^id: (\d+)/gm)) {
          delays.push((performance.now() - (committedAt.get(seq) ?? Number.NaN)) * 1000);
        }
      }
    })();
    for (let round = 0; round < 30; round += 1) {
      await engine.run({ task: "go", profile: "general" });
      const small = () => fetch(`${server.url}/api/v1/me`, { headers }).then((it) => it.text());
      requests.push(await clockTime(small));
    }
    stop();
    await reader?.cancel();
    await reading;
    if (delays.length < 100) throw new Error(`Only ${delays.length} events were seen.`);
    return median(delays) / median(requests);
  } finally {
    await server.close(100);
  }
}
