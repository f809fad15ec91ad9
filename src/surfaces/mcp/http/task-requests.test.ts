import { expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { until } from "../../../testing/until.ts";
import { startEchoEndpoint } from "./echo-endpoint.test-support.ts";
import { postModern } from "./raw-client.test-support.ts";

const knowsTasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const wait = { name: "wait", arguments: {} };

it("lets a task go on when its client is gone, for its principal alone", async () => {
  const { finishWaits, url, waits } = await startEchoEndpoint();
  const created = await postModern({ url }, 1, "tools/call", wait, knowsTasks);
  expect(created.message.result).toMatchObject({ resultType: "task", status: "working" });
  expect(created.message.result).not.toHaveProperty("content");
  const taskId = String(created.message.result?.["taskId"]);
  const foreign = await postModern({ url, token: "bob" }, 2, "tasks/get", { taskId }, knowsTasks);
  const unknown = await postModern(
    { url, token: "bob" },
    2,
    "tasks/get",
    { taskId: "x" },
    knowsTasks,
  );
  expect(foreign.message.error?.code).toBe(-32_602);
  expect(unknown.message.error?.code).toBe(-32_602);
  expect(foreign.message.error?.message.replace(taskId, "x")).toBe(unknown.message.error?.message);
  await postModern({ url, token: "bob" }, 3, "tasks/cancel", { taskId }, knowsTasks);
  finishWaits();
  await until("the call ends", () => waits.length > 0);
  expect(waits).toEqual(["done"]);
  const own = await postModern({ url }, 4, "tasks/get", { taskId }, knowsTasks);
  expect(own.message.result).toMatchObject({
    resultType: "complete",
    status: "completed",
    result: { content: [{ type: "text", text: "Waited." }] },
  });
});

it("shows a task to its principal who is a viewer by now, who can neither end nor answer it", async () => {
  const { finishWaits, url, waits } = await startEchoEndpoint();
  const created = await postModern({ url }, 1, "tools/call", wait, knowsTasks);
  const taskId = String(created.message.result?.["taskId"]);
  const viewer = { url, token: "alice/viewer" };
  const seen = await postModern(viewer, 2, "tasks/get", { taskId }, knowsTasks);
  expect(seen.message.result).toMatchObject({ status: "working" });
  for (const method of ["tasks/cancel", "tasks/update"]) {
    const refused = await postModern(viewer, 3, method, { taskId }, knowsTasks);
    expect(refused.message.error?.message).toContain("needs an operator");
  }
  finishWaits();
  await until("the call ends", () => waits.length > 0);
  expect(waits).toEqual(["done"]);
});

it("answers a client that does not know tasks when the call is done", async () => {
  const clock = new ManualClock();
  const endpoint = await startEchoEndpoint({ clock });
  const { url } = endpoint;
  const answered = postModern({ url }, 1, "tools/call", wait);
  await until("the call is begun", () => endpoint.begun === 1);
  // Long after the time in which the call of another client would have become a task.
  await clock.advance(60_000);
  endpoint.finishWaits();
  const { message } = await answered;
  expect(message.result).toMatchObject({ resultType: "complete" });
});

it("tells who listens how their own tasks go, and ends with the last of them", async () => {
  const { finishWaits, url } = await startEchoEndpoint();
  const begin = async (token: string) => {
    const { message } = await postModern({ url, token }, 1, "tools/call", wait, knowsTasks);
    return String(message.result?.["taskId"]);
  };
  const [own, foreign] = [await begin("alice"), await begin("bob")];
  const params = { notifications: { taskIds: [own, foreign, "invented"] } };
  const response = await listen(url, params, knowsTasks);
  const text = await readAll(response, (soFar) => {
    if (soFar.includes('"working"')) finishWaits();
  });
  const messages = text.split("\n").flatMap((line) => {
    return line.startsWith("data: ") ? [JSON.parse(line.slice("data: ".length))] : [];
  });
  expect(messages.map(({ method, result }) => method ?? result.resultType)).toEqual([
    "notifications/subscriptions/acknowledged",
    "notifications/tasks",
    "notifications/tasks",
    "complete",
  ]);
  expect(messages[0].params.notifications).toEqual({ taskIds: [own] });
  expect(messages.slice(1, 3).map(({ params }) => [params.taskId, params.status])).toEqual([
    [own, "working"],
    [own, "completed"],
  ]);
  const subscription = "io.modelcontextprotocol/subscriptionId";
  expect(messages.slice(0, 3).map(({ params }) => params._meta[subscription])).toEqual([9, 9, 9]);
});

it("refuses to tell of tasks those who did not say that they know them", async () => {
  const { url } = await startEchoEndpoint();
  const response = await listen(url, { notifications: { taskIds: ["x"] } }, {});
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ id: 9, error: { code: -32_021 } });
});

async function readAll(response: Response, onText: (soFar: string) => void): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    onText(text);
  }
  return text;
}

function listen(url: string, params: object, capabilities: object): Promise<Response> {
  const version = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  const method = "subscriptions/listen";
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: "Bearer alice",
      "mcp-protocol-version": version,
      "mcp-method": method,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 9, method, params: { ...params, _meta } }),
  });
}
