import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import fc, { type Arbitrary } from "fast-check";
import { LocalClientSession } from "../../../src/surfaces/mcp/client-session.ts";
import { readLine } from "../../../src/surfaces/mcp/stdio/line-transport.ts";
import { serveStdio } from "../../../src/surfaces/mcp/stdio/serve-stdio.ts";
import { openEngine, testProfile } from "../../../src/testing/engine-fixture.ts";
import { acceptTools } from "../../../src/tools/mcp/accept-tools.ts";
import { cleanText } from "../../../src/tools/mcp/clean-text.ts";
import { assertShown } from "../expect-refusal.ts";
import { nastyJson, nastyText } from "../hostile-text.ts";
import { mutated } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";
import { openHttpServer } from "./http-server.ts";

const methods = [
  ...[
    "ping",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
  ],
  ...[
    "resources/subscribe",
    "logging/setLevel",
    "completion/complete",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
  ],
  ...[
    "initialize",
    "server/discover",
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
  ],
  ...["__proto__", "constructor", "tools/nothing", "", "rpc.discover"],
];
const tools = [
  "delegate_task",
  "spawn",
  "spawn_await",
  "list_sub_agents",
  "get_delegation_result",
  "nothing",
];

const messages: Arbitrary<string> = fc.oneof(
  fc
    .record({
      jsonrpc: fc.constantFrom<unknown>("2.0", "2.0", "2.0", "2.0", "1.0", 2, null),
      id: fc.oneof(
        fc.integer(),
        fc.constantFrom<unknown>(
          1,
          "a",
          null,
          1.5,
          1e300,
          -1,
          {},
          [],
          "x".repeat(1000),
          "__proto__",
          undefined,
        ),
      ),
      method: fc.oneof({ weight: 5, arbitrary: fc.constantFrom<unknown>(...methods) }, nastyJson),
      params: fc.oneof(
        fc.constant(undefined),
        nastyJson,
        fc
          .tuple(fc.constantFrom(...tools), nastyJson)
          .map(([name, given]) => ({ name, arguments: given })),
        fc.tuple(fc.constantFrom(...tools), nastyText).map(([name, task]) => ({
          name,
          arguments: { profile: "nobody", task, job_ids: task, delegationId: task },
        })),
        nastyText.map((uri) => ({
          uri,
          name: uri,
          requestId: uri,
          taskId: uri,
          cursor: uri,
          level: uri,
        })),
      ),
    })
    .map((message) => JSON.stringify(message)),
  mutated(
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    ],
    ['"id":1,', "\\u0000", "[", "{"],
  ).map((bytes) => bytes.toString("latin1")),
  nastyJson.map((value) => JSON.stringify(value)),
);

/** Nobody hears of these ids twice. */
const pingIds = (() => {
  let last = 0;
  return () => `fuzz-ping-${++last}`;
})();

export const mcpPipes = defineTarget({
  name: "mcp-pipes",
  surface: "mcp",
  promise:
    "whatever comes in over the pipe is answered by the book or not at all, and the connection lives",
  caseMs: 4000,
  cases: 120,
  async open() {
    const engine = await openEngine({ profiles: [testProfile("helper")], model: () => "done" });
    const input = new PassThrough();
    const heard: { readonly id?: unknown; readonly error?: { readonly code: unknown } }[] = [];
    let wake = (): void => undefined;
    const served = serveStdio({
      input,
      principal: { id: "local", role: "operator" },
      write(text) {
        for (const line of text.split("\n")) if (line !== "") heard.push(JSON.parse(line));
        wake();
      },
      warn: () => undefined,
      async open(client) {
        const session = new LocalClientSession({
          ...{ runtime: engine, client, principal: { id: "local", role: "operator" } },
          folders: [engine.workspace],
          allowed: undefined,
        });
        return { session, close: () => session.close() };
      },
    });
    const until = async (id: string): Promise<void> => {
      while (!heard.some((message) => message.id === id)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    const send = (message: object) =>
      input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "raw", version: "1" };
    send({
      id: "init",
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
    });
    await until("init");
    send({ method: "notifications/initialized" });
    return {
      inputs: fc.array(messages, { minLength: 1, maxLength: 5 }),
      async check(lines: readonly string[]) {
        heard.length = 0;
        for (const line of lines) input.write(`${line.replaceAll("\n", " ")}\n`, "latin1");
        const id = pingIds();
        send({ id, method: "ping" });
        await until(id);
        for (const { error } of heard) {
          if (error) assert.ok(Number.isInteger(error.code), JSON.stringify(error));
        }
      },
      async close() {
        input.end();
        await served.close();
        await engine[Symbol.asyncDispose]();
      },
    };
  },
});

export const mcpLines = defineTarget({
  name: "mcp-lines",
  surface: "mcp",
  promise:
    "a line is a message, a refusal with a code of JSON-RPC, or nothing; ids come back as they were",
  cases: 400,
  open: () => ({
    inputs: messages,
    check(line: string) {
      const read = readLine(Buffer.from(line), 10_000_000);
      if (!("refused" in read)) return;
      const { error, id } = read.refused;
      assert.ok([-32_700, -32_600].includes(error.code));
      assert.ok(id === null || typeof id === "string" || typeof id === "number");
    },
  }),
});

export const mcpOverHttp = defineTarget({
  name: "mcp-over-http",
  surface: "mcp",
  promise: "a message over HTTP is answered within a second, and by a failure of ours never",
  caseMs: 2000,
  cases: 120,
  async open() {
    const server = await openHttpServer();
    const versions = ["2025-11-25", "2026-07-28", "1999-01-01", "", "x"];
    return {
      inputs: fc.record({
        body: messages,
        method: fc.constantFrom("POST", "POST", "POST", "GET", "DELETE", "PUT"),
        version: fc.constantFrom(...versions),
        session: fc.constantFrom("", "unknown", "../x", "x".repeat(500)),
        name: fc.constantFrom("", "tools/call", "ping"),
        accept: fc.constantFrom("application/json, text/event-stream", "text/html", "*/*"),
      }),
      async check({ accept, body, method, name, session, version }) {
        const before = server.log.length;
        const { status, text } = await server.send({
          ...{ method, path: "/mcp", body: method === "GET" ? "" : body },
          headers: [
            ...([
              ["host", `127.0.0.1:${server.port}`],
              ["authorization", `Bearer ${server.token}`],
            ] as const),
            ...([
              ["content-type", "application/json"],
              ["accept", accept],
            ] as const),
            ...(method === "GET"
              ? []
              : [["content-length", String(Buffer.byteLength(body))] as const]),
            ...(version === "" ? [] : [["mcp-protocol-version", version] as const]),
            ...(session === "" ? [] : [["mcp-session-id", session] as const]),
            ...(name === "" ? [] : [["mcp-method", name] as const]),
          ],
        });
        assert.ok(
          status < 500 || status === 501,
          `${status}: ${text}\n${server.log.slice(before).join("\n")}`,
        );
      },
      close: () => server.close(),
    };
  },
});

export const toolsOfServers = defineTarget({
  name: "tools-of-servers",
  surface: "mcp",
  promise: "what a server says of its tools is bounded, clean, and under names of its own",
  cases: 300,
  open: () => ({
    inputs: fc.array(
      fc.record({
        name: nastyText,
        description: fc.option(nastyText, { nil: undefined }),
        inputSchema: nastyJson.map((properties) => ({ type: "object", properties })),
      }),
      { maxLength: 6 },
    ),
    check(listed: readonly unknown[]) {
      const { notes, tools: accepted } = acceptTools("files", listed as never, undefined);
      assert.equal(new Set(accepted.map(({ fullName }) => fullName)).size, accepted.length);
      for (const { description, fullName } of accepted) {
        assert.match(fullName, /^mcp__files__[A-Za-z0-9_-]+$/);
        assertShown(description);
      }
      for (const note of notes) assertShown(note);
      for (const each of listed as readonly { name: string }[])
        assertShown(cleanText(each.name, 100));
    },
  }),
});
