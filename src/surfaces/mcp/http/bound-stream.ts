/** What a client has not read yet may grow this far; then it is let go, and the memory with it. */
const maxBacklog = 2 * 1024 * 1024;

/**
 * Passes a stream of events on, and counts: the SDK queues without end for a client that does not
 * read. One event passes however large it is, where what waits before it is within the limit.
 */
export function boundStream(response: Response, onEnd: () => void): Response {
  const { body, headers, status } = response;
  if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  const bounded = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void pump(reader, controller).finally(onEnd);
      },
      async cancel(reason) {
        await reader.cancel(reason).catch(() => undefined);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxBacklog }),
  );
  return new Response(bounded, { status, headers });
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      const room = controller.desiredSize ?? 0;
      if (room < maxBacklog && room < value.byteLength)
        throw new Error("The client does not read.");
      controller.enqueue(value);
    }
  } catch (error) {
    await reader.cancel(error).catch(() => undefined);
    try {
      controller.error(error);
    } catch {
      // The client was faster: it has closed the stream.
    }
  }
}
