import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { makeCertificate } from "./make-certificate.test-support.ts";
import { fetchPage, serve, type WebServer } from "./web-server.test-support.ts";

const certificate = makeCertificate("secure.example");
const usual = getCACertificates("default");
const asked: string[] = [];
let secure: Server;
let port: number;
let plain: WebServer;

beforeAll(async () => {
  secure = createServer(certificate, (request, response) => {
    const name = (request.socket as { servername?: string }).servername;
    asked.push(`${name}${request.url}`);
    if (request.url === "/down") {
      response.writeHead(302, { location: `http://plain.example:${plain.port}/` }).end();
    } else response.writeHead(200, { "content-type": "text/plain" }).end("over TLS");
  });
  await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
  port = (secure.address() as AddressInfo).port;
  plain = await serve((_request, response) => {
    response.writeHead(301, { location: `https://secure.example:${port}/up` }).end();
  });
});

afterEach(() => {
  setDefaultCACertificates(usual);
  asked.length = 0;
});

afterAll(() => {
  secure.close();
  plain.close();
});

function get(url: string) {
  const lookup = async () => [{ address: "127.0.0.1", family: 4 } as const];
  const allowPrivate = [`127.0.0.1:${port}`, `127.0.0.1:${plain.port}`];
  return fetchPage({ url }, { lookup, allowPrivate });
}

test("a server is spoken to by its name, and believed when its certificate is", async () => {
  setDefaultCACertificates([certificate.cert]);
  expect((await get(`https://secure.example:${port}/x`)).text).toMatch(/\]\nover TLS$/);
  expect(asked).toEqual(["secure.example/x"]);
});

test("a certificate that nobody signed is refused, whatever the environment says", async () => {
  const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  try {
    const result = await get(`https://secure.example:${port}/`);
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining("SELF_SIGNED") });
    expect(asked).toEqual([]);
  } finally {
    if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
  }
});

test("a certificate of another name is refused", async () => {
  setDefaultCACertificates([certificate.cert]);
  const result = await get(`https://other.example:${port}/`);
  expect(result.text).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  expect(asked).toEqual([]);
});

test("redirects lead up to TLS, and not down from it", async () => {
  setDefaultCACertificates([certificate.cert]);
  expect((await get(`http://plain.example:${plain.port}/`)).text).toContain("over TLS");
  const before = plain.asked.length;
  const down = await get(`https://secure.example:${port}/down`);
  expect(down).toMatchObject({ isError: true, text: expect.stringContaining("https to http") });
  expect(plain.asked).toHaveLength(before);
});

test("TLS to a server that does not speak it ends in time", async () => {
  const result = await get(`https://plain.example:${plain.port}/`);
  expect(result.isError).toBe(true);
});
