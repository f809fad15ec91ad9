import { expect, test } from "vitest";
import { McpDesk, type RawMessage } from "../mcp-desk.test-support.ts";

const playbook = `
version: 1
name: hostile
replies:
  - text: "Done"
    latency_ms: 400
`;

test("Whatever comes in over the pipe, it is answered by the book and the connection lives", async () => {
  await using desk = new McpDesk(playbook);
  const server = desk.start();
  const { result } = await server.initialize();
  expect(result).toMatchObject({ protocolVersion: "2025-11-25", serverInfo: { name: "mandate" } });
  let sent = 0;
  /** Sends it, and a ping after it: answers come in order, so all that it caused has come by then. */
  const answersTo = async (line: string | Buffer): Promise<readonly RawMessage[]> => {
    const before = server.messages.length;
    const ping = `ping-${++sent}`;
    server.write(line);
    server.send({ id: ping, method: "ping" });
    expect(await server.next(({ id }) => id === ping)).toMatchObject({ result: {} });
    return server.messages.slice(before).filter(({ id }) => id !== ping);
  };
  const refusal = (code: number, id: string | number | null = null) => [
    { jsonrpc: "2.0", id, error: { code, message: expect.any(String) } },
  ];
  const request = (fields: object): string =>
    JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping", ...fields });

  expect(await answersTo(`[${request({})},${request({ id: 8 })}]`)).toEqual(refusal(-32_600));
  expect(await answersTo("[]")).toEqual(refusal(-32_600));
  expect(await answersTo("this is no JSON")).toEqual(refusal(-32_700));
  expect(await answersTo('{"jsonrpc":"2.0","id":1,"met')).toEqual(refusal(-32_700));
  expect(await answersTo(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))).toEqual(refusal(-32_700));
  expect(await answersTo("7")).toEqual(refusal(-32_600));
  expect(await answersTo("null")).toEqual(refusal(-32_600));
  expect(await answersTo("")).toEqual([]);
  expect(await answersTo(request({ jsonrpc: "1.0" }))).toEqual(refusal(-32_600, 7));
  expect(await answersTo(request({ jsonrpc: undefined }))).toEqual(refusal(-32_600, 7));
  expect(await answersTo(request({ id: null }))).toEqual(refusal(-32_600));
  expect(await answersTo(request({ id: 1.5 }))).toEqual(refusal(-32_600, 1.5));
  expect(await answersTo(request({ id: { a: 1 } }))).toEqual(refusal(-32_600));
  expect(await answersTo(request({ method: 7 }))).toEqual(refusal(-32_600, 7));
  expect(await answersTo(request({ method: undefined }))).toEqual(refusal(-32_600, 7));
  expect(await answersTo(request({ params: [1] }))).toEqual(refusal(-32_600, 7));
  expect(await answersTo(request({ method: "tools/nothing" }))).toEqual(refusal(-32_601, 7));
  expect(await answersTo(request({ method: "__proto__" }))).toEqual(refusal(-32_601, 7));
  expect(await answersTo(request({ method: "tools/call", params: {} }))).toEqual(
    refusal(-32_602, 7),
  );
  // Responses that nobody waits for, of whatever shape, are not answered.
  expect(await answersTo('{"jsonrpc":"2.0","id":99,"result":{}}')).toEqual([]);
  expect(await answersTo('{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}')).toEqual(
    [],
  );
  const cancel = { method: "notifications/cancelled", params: { requestId: "unknown" } };
  expect(await answersTo(JSON.stringify({ jsonrpc: "2.0", ...cancel }))).toEqual([]);
  expect(await answersTo('{"jsonrpc":"2.0","method":"notifications/cancelled"}')).toEqual([]);
  // Fifty megabytes in one line, as a string and as mere depth.
  expect(await answersTo(Buffer.alloc(50 * 1024 * 1024, 0x61))).toEqual(refusal(-32_600));
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const nested = `{"name":"delegate_task","arguments":{"task":${deep}}}`;
  const buried = `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":${nested}}`;
  await answersTo(buried);
  const answer = await server.next(({ id }) => id === "deep");
  expect(answer).toMatchObject({ result: { isError: true } });

  server.send({
    id: "call",
    method: "tools/call",
    params: {
      name: "delegate_task",
      arguments: JSON.parse('{"profile":"researcher","task":"x","__proto__":{"a":1}}'),
    },
  });
  expect(await server.next(({ id }) => id === "call")).toMatchObject({ result: {} });
  expect(server.garbage).toEqual([]);
  server.child.stdin.end();
  expect(await server.exit()).toMatchObject({ code: 0 });
});

test("An id is not taken twice while its request is open, and again afterwards", async () => {
  await using desk = new McpDesk(playbook);
  const server = desk.start();
  await server.initialize();
  const call = {
    id: 1,
    method: "tools/call",
    params: { name: "delegate_task", arguments: { profile: "researcher", task: "x" } },
  };
  server.send(call);
  server.send({ id: 1, method: "ping" });
  const refused = await server.next(({ error, id }) => id === 1 && error !== undefined);
  expect(refused.error?.code).toBe(-32_600);
  const done = await server.next(({ id, result }) => id === 1 && result !== undefined);
  expect(done.result).toMatchObject({ structuredContent: { status: "completed" } });
  server.messages.length = 0;
  server.send({ id: 1, method: "ping" });
  expect(await server.next(({ id }) => id === 1)).toMatchObject({ result: {} });
  server.child.stdin.end();
  expect(await server.exit()).toMatchObject({ code: 0 });
});
