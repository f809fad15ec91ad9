import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { createEgressProxy, type EgressRecord } from "./egress-proxy.ts";

/** A granted server that notes the bytes it gets, and answers nothing. */
let server: Server;
let place: string;
const sockets: Socket[] = [];
const received: string[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    const index = sockets.push(socket) - 1;
    received[index] = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => (received[index] += chunk.toString("latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  place = `granted.test:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

function open(): { program: Duplex; said: () => string; records: EgressRecord[] } {
  const records: EgressRecord[] = [];
  const [program, connection] = duplexPair();
  let said = "";
  program.on("error", () => undefined).on("data", (chunk: Buffer) => (said += chunk));
  createEgressProxy({
    grants: [["granted.test"], "*"],
    allowPrivate: [place],
    lookup: async () => [{ address: "127.0.0.1", family: 4 }],
    onConnection: (record) => records.push(record),
  })(connection);
  return { program, said: () => said, records };
}

describe("a program in a sandbox", () => {
  const hidden = "GET /hidden HTTP/1.1\r\nHost: other.test\r\n\r\n";
  const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
  const framings: readonly (readonly [string, string])[] = [
    ["Transfer-Encoding: chunked\r\n", chunk],
    ["Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n", chunk],
    [`Content-Length: ${hidden.length}\r\n`, hidden],
    [`Content-Length: ${hidden.length}\r\nConnection: content-length\r\n`, hidden],
    [`Content-Length: ${hidden.length}\r\nConnection: host, Content-Length\r\n`, hidden],
  ];

  it("hides no request for another host in the body of its own", async () => {
    for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "POST", "PROPFIND"]) {
      for (const [framing, body] of framings) {
        const index = sockets.length;
        const { program } = open();
        program.write(
          `${method} http://${place}/ HTTP/1.1\r\nHost: ${place}\r\n${framing}\r\n${body}`,
        );
        await until("the body has arrived", () => received[index]?.includes("/hidden") ?? false);
        const [head = ""] = received[index]?.split("\r\n\r\n", 1) ?? [];
        // The server knows where the body ends, and that it is one.
        expect([method, framing, head.toLowerCase()]).toEqual([
          method,
          framing,
          expect.stringMatching(/\r\n(?:content-length: \d+|transfer-encoding: chunked)(?:\r\n|$)/),
        ]);
        expect(head).toContain(`\r\nhost: ${place}`);
        program.destroy();
      }
    }
  });

  it("leaves no connection open outside when it ends a tunnel before it uses it", async () => {
    const first = sockets.length;
    for (let count = 0; count < 20; count++) {
      const { program, said } = open();
      program.write(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`);
      await until("the tunnel is open", () => said().includes("200"));
      if (count % 2 === 0) program.end();
      else program.destroy();
    }
    await until("all are closed", () => sockets.slice(first).every(({ destroyed }) => destroyed));
    expect(sockets.length - first).toBe(20);
  });

  it("cannot make its greeting be read again without end", async () => {
    const { program, said } = open();
    program.write(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`);
    await until("the tunnel is open", () => said().includes("200"));
    // Records without content: the greeting never begins.
    for (let count = 0; count < 200 && !program.readableEnded; count++) {
      program.write(Buffer.from([22, 3, 1, 0, 0]));
      await new Promise(setImmediate);
    }
    await until("it is given up", () => program.destroyed || program.readableEnded);
    expect(said()).toContain("403");
  });
});
