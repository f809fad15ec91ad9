import { expect, test } from "vitest";
import { hasten } from "./load-playbook.ts";

test("waits are divided, and everything else stays as it was", () => {
  const slow = { text: "a", latency_ms: 1000, chunks: 4 };
  const limited = { fault: "rate-limited" as const, retry_after_ms: 250 };
  const fast = hasten({ version: 1, name: "x", replies: [slow, limited, { text: "b" }] }, 10);
  expect(fast).toEqual({
    version: 1,
    name: "x",
    replies: [{ ...slow, latency_ms: 100 }, { ...limited, retry_after_ms: 25 }, { text: "b" }],
  });
});
