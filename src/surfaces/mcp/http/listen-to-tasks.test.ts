import { expect, it } from "vitest";
import type { Principal } from "../../../control/records/principal.ts";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { Tasks } from "../tasks/tasks.ts";
import { listenToTasks } from "./modern-endpoint.ts";

const owner: Principal = { id: "alice", role: "operator" };
const graceMs = 10;

it("a task that ends before anybody watches it is told all the same, and ends the stream", async () => {
  const clock = new ManualClock();
  const tasks = new Tasks({ graceMs, clock });
  const { promise, resolve: finish } = Promise.withResolvers<{ content: [] }>();
  const { signal } = new AbortController();
  const beginning = tasks.begin({ owner, tool: "wait", signal, work: () => promise });
  await clock.advance(graceMs);
  const begun = await beginning;
  if (!("task" in begun)) throw new Error("It was answered at once.");
  const { taskId } = begun.task;
  // What the SDK sends: an acknowledgement, and its result when nothing else was asked for.
  const frames = new TransformStream<Uint8Array, Uint8Array>();
  const headers = { "content-type": "text/event-stream" };
  const listening = await listenToTasks(new Response(frames.readable, { headers }), {
    ...{ tasks, owner, id: 1, taskIds: [taskId] },
  });
  finish({ content: [] });
  await clock.advance(0);
  expect(await tasks.get(owner, taskId)).toMatchObject({ state: { status: "completed" } });
  const writer = frames.writable.getWriter();
  const frame = (message: object) =>
    new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  void writer.write(frame({ jsonrpc: "2.0", method: "notifications/acknowledged", params: {} }));
  void writer.write(frame({ jsonrpc: "2.0", id: 1, result: {} }));
  void writer.close();
  const text = await listening.text();
  expect(text.match(/"status":"(\w+)"/g)).toEqual(['"status":"completed"']);
  expect(text).toContain('"result":{}');
});
