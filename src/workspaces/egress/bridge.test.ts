import { once } from "node:events";
import { connect } from "node:http2";
import { type Duplex, duplexPair } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { until } from "../../testing/until.ts";
import { type Doors, openBridge } from "./bridge.ts";
import { EgressLog } from "./egress-log.ts";
import { createEgressProxy } from "./egress-proxy.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const echo: Doors = new Map([[80, (connection: Duplex) => connection.pipe(connection)]]);

function open(doors: Doors): Duplex {
  const [inside, outside] = duplexPair();
  openBridge(outside, doors);
  return inside.on("error", () => undefined);
}

async function ask(authority: string, method = "CONNECT"): Promise<string> {
  const inside = open(echo);
  const session = connect("http://x", { createConnection: () => inside });
  session.on("error", () => undefined);
  const stream = session.request(
    method === "CONNECT"
      ? { ":method": method, ":authority": authority }
      : { ":method": method, ":authority": authority, ":path": "/" },
  );
  stream.on("error", () => undefined);
  let said = "";
  stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  stream.end("hello");
  await once(stream, "close");
  session.destroy();
  return said;
}

it("opens the doors that there are, and no other", async () => {
  expect(await ask("outside:80")).toBe("hello");
  for (const other of ["outside:81", "outside:080x", "localhost:80", "outside:80:80"]) {
    expect([other, await ask(other)]).toEqual([other, ""]);
  }
  expect(await ask("outside:80", "POST")).toBe("");
});

it("survives whatever a program writes in place of the relay", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.uint8Array({ maxLength: 400 }), async (isFramed, bytes) => {
      const inside = open(echo);
      inside.resume();
      inside.end(isFramed ? Buffer.concat([preface, bytes]) : Buffer.from(bytes));
      await until("it was given up", () => inside.destroyed || inside.readableEnded);
    }),
    { numRuns: cases(60) },
  );
});

it("answers each hostile request to the proxy with a refusal, and records it in bounds", async () => {
  const log = new EgressLog();
  const proxy = createEgressProxy({
    grants: [["granted.example"], "*"],
    lookup: async () => [{ address: "10.0.0.1", family: 4 }],
    onConnection: (record) => log.add(record),
  });
  const piece = fc.constantFrom(
    ...["GET ", "CONNECT ", "http://granted.example/", "granted.example:443", " HTTP/1.1\r\n"],
    ...["Host: granted.example\r\n", "Host: a\r\n", "Transfer-Encoding: chunked\r\n", "\r\n", "0"],
    ...[
      "Content-Length: 5\r\n",
      "\u0016\u0003\u0001",
      "http://[::1]:80/",
      "@",
      "\0",
      "x".repeat(900),
    ],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const [program, connection] = duplexPair();
      let said = "";
      program.on("error", () => undefined).on("data", (chunk: Buffer) => (said += chunk));
      proxy(connection);
      program.end(Buffer.from(pieces.join(""), "latin1"));
      await until("it is answered", () => program.destroyed || program.readableEnded);
      expect(said).not.toMatch(/^HTTP\/1\.1 2/);
    }),
    { numRuns: cases(100) },
  );
  const taken = log.take() ?? [];
  expect(taken.every(({ host, refused }) => refused !== undefined && host.length <= 260)).toBe(
    true,
  );
  expect(log.take()).toBeUndefined();
});

it("tells at most fifty hosts apart", () => {
  const log = new EgressLog();
  for (let index = 0; index < 200; index += 1) log.add({ host: `h${index}.example:443` });
  const taken = log.take() ?? [];
  expect(taken).toHaveLength(51);
  expect(taken.at(-1)).toEqual({ host: "(others)", times: 150 });
});
