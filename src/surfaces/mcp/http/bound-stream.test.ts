import { expect, it, vi } from "vitest";
import { until } from "../../../testing/until.ts";
import { boundStream } from "./http-client.ts";

const megabyte = new Uint8Array(1024 * 1024);

function streaming(chunks: number): {
  response: Response;
  made: () => number;
  isCancelled: () => boolean;
} {
  let made = 0;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (made++ < chunks) controller.enqueue(megabyte);
        else controller.close();
      },
      cancel() {
        isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "text/event-stream" };
  return {
    response: new Response(body, { headers }),
    made: () => made,
    isCancelled: () => isCancelled,
  };
}

it("lets a client go that does not read, after two megabytes", async () => {
  const { response, made, isCancelled } = streaming(1000);
  const onEnd = vi.fn();
  const bounded = boundStream(response, onEnd);
  await until("the client is let go", () => onEnd.mock.calls.length > 0);
  expect(made()).toBeLessThanOrEqual(4);
  expect(isCancelled()).toBe(true);
  await expect(bounded.text()).rejects.toThrow("does not read");
});

it("passes everything on to one that reads", async () => {
  const onEnd = vi.fn();
  const { response } = streaming(20);
  const read = boundStream(response, onEnd).body?.getReader();
  let bytes = 0;
  for (;;) {
    const next = await read?.read();
    if (next === undefined || next.done) break;
    bytes += next.value.byteLength;
  }
  expect(bytes).toBe(20 * megabyte.byteLength);
  await until("the end is told", () => onEnd.mock.calls.length > 0);
  expect(onEnd).toHaveBeenCalledOnce();
});

it("passes one event on that is larger than all that may wait", async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(megabyte);
      controller.enqueue(new Uint8Array(5 * megabyte.byteLength));
      controller.close();
    },
  });
  const headers = { "content-type": "text/event-stream" };
  const bounded = boundStream(new Response(body, { headers }), () => undefined);
  expect((await bounded.bytes()).byteLength).toBe(6 * megabyte.byteLength);
});

it("leaves alone what is no stream of events", () => {
  const onEnd = vi.fn();
  const response = Response.json({});
  expect(boundStream(response, onEnd)).toBe(response);
  expect(onEnd).toHaveBeenCalledOnce();
});
