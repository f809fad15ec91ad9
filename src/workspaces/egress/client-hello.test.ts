import { once } from "node:events";
import { duplexPair } from "node:stream";
import { connect } from "node:tls";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readClientHello } from "./client-hello.ts";

/** The first message of a real client. */
async function helloFor(servername: string): Promise<Buffer> {
  const [inside, outside] = duplexPair();
  const client = connect({ socket: inside, servername, rejectUnauthorized: false });
  client.on("error", () => undefined);
  const [bytes] = (await once(outside, "data")) as [Buffer];
  client.destroy();
  return bytes;
}

it("reads the name that a real client asks for, and that it asks for none", async () => {
  const named = readClientHello(await helloFor("Granted.Example"));
  expect(named).toEqual({ kind: "tls", serverName: "granted.example" });
  expect(readClientHello(await helloFor(""))).toEqual({ kind: "tls", serverName: null });
});

it("decides nothing before the message is whole, however it is cut", async () => {
  const hello = await helloFor("granted.example");
  for (let length = 0; length < hello.length; length += 1) {
    expect(readClientHello(hello.subarray(0, length)).kind).toBe("incomplete");
  }
});

it("reads a message that is spread over many records", async () => {
  const message = (await helloFor("granted.example")).subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += 40) {
    const part = message.subarray(at, at + 40);
    records.push(Buffer.from([22, 3, 1, 0, part.length]), part);
  }
  expect(readClientHello(Buffer.concat(records))).toEqual({
    kind: "tls",
    serverName: "granted.example",
  });
});

it("takes nothing else for a greeting, and never throws", async () => {
  const hello = await helloFor("granted.example");
  expect(readClientHello(Buffer.from("GET / HTTP/1.1\r\n"))).toEqual({ kind: "other" });
  expect(readClientHello(Buffer.from("SSH-2.0-x"))).toEqual({ kind: "other" });
  fc.assert(
    fc.property(fc.nat(hello.length - 1), fc.integer({ min: 0, max: 255 }), (at, value) => {
      const changed = Buffer.from(hello);
      changed[at] = value;
      const read = readClientHello(changed);
      expect(["tls", "other", "incomplete"]).toContain(read.kind);
    }),
  );
});
