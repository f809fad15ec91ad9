import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { RecentMessages } from "./legacy-endpoint.ts";

const note = (text: string): JSONRPCMessage => ({ jsonrpc: "2.0", method: text });

async function replayed(messages: RecentMessages, after: string): Promise<readonly string[]> {
  const found: string[] = [];
  await messages.replayEventsAfter(after, {
    send: async (_id, message) => void found.push("method" in message ? message.method : ""),
  });
  return found;
}

it("gives what came after an event on the same stream, and nothing of another", async () => {
  const messages = new RecentMessages();
  const first = await messages.storeEvent("a", note("1"));
  await messages.storeEvent("b", note("2"));
  await messages.storeEvent("a", note("3"));
  expect(await messages.getStreamIdForEventId(first)).toBe("a");
  expect(await replayed(messages, first)).toEqual(["3"]);
});

it("forgets the oldest when there are too many, and knows nothing of their ids", async () => {
  const messages = new RecentMessages();
  const first = await messages.storeEvent("a", note("first"));
  for (let count = 0; count < 1000; count++) await messages.storeEvent("a", note("more"));
  expect(await messages.getStreamIdForEventId(first)).toBeUndefined();
});

it("holds no more than a megabyte, but always the newest message", async () => {
  const messages = new RecentMessages();
  const large = note("x".repeat(800_000));
  const first = await messages.storeEvent("a", large);
  const second = await messages.storeEvent("a", large);
  expect(await messages.getStreamIdForEventId(first)).toBeUndefined();
  expect(await messages.getStreamIdForEventId(second)).toBe("a");
  const third = await messages.storeEvent("a", note("x".repeat(9_000_000)));
  expect(await messages.getStreamIdForEventId(third)).toBe("a");
});

it("does not take ids of another session", async () => {
  const id = await new RecentMessages().storeEvent("a", note("1"));
  const other = new RecentMessages();
  await other.storeEvent("a", note("1"));
  expect(await other.getStreamIdForEventId(id)).toBeUndefined();
});
