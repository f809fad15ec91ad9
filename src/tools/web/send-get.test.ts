import { afterEach, beforeEach, expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { sendGet } from "./get-page.ts";
import { serve, type WebServer } from "./web-server.test-support.ts";

const limits = { connectMs: 5000, headersMs: 5000 };
let server: WebServer;

beforeEach(async () => {
  server = await serve((_request, response) => response.end("inside"));
});

afterEach(() => server.close());

function get(host: string, address: string) {
  const url = new URL(`http://${host}:${server.port}/`);
  return sendGet(url, [{ address, family: 4 }], {
    limits,
    signal: new AbortController().signal,
    clock: new ManualClock(),
  });
}

// An address is connected to as it stands, without anybody being asked: the last check alone sees it.
test("a connection to an address that was not checked is given up before anything is sent", async () => {
  await expect(get("127.0.0.1", "203.0.113.7")).rejects.toThrow(
    `127.0.0.1:${server.port} changed its address.`,
  );
  expect(server.asked).toEqual([]);
});

test("a connection to an address that was checked is used", async () => {
  const response = await get("somewhere.example", "127.0.0.1");
  expect(response.statusCode).toBe(200);
  response.resume();
  expect(server.asked).toEqual(["/"]);
});
