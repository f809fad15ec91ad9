/**
 * A server of streams in a process of its own, so that its memory can be looked at:
 * `node --expose-gc sse-process.test-support.ts DATABASE`. It says where it is, and takes a line each
 * on standard input: `write COUNT BYTES` appends, `memory` collects garbage and answers.
 */
import { createInterface } from "node:readline";
import { openStore } from "../../../open-store.ts";
import { note, StoredRun } from "../../../testing/stored-run.ts";
import { openStreams } from "./sse-server.test-support.ts";

const store = await openStore({ database: process.argv[2] ?? "", synchronous: "normal" });
const { hub, origin, server } = await openStreams(store, {
  limits: { perPrincipal: 1000, heartbeatMs: 1e9 },
});
const run = await StoredRun.start(store);
const id = await run.child();
const say = (what: unknown): boolean => process.stdout.write(`${JSON.stringify(what)}\n`);
say({ origin });

for await (const line of createInterface({ input: process.stdin })) {
  const [word, count = "0", bytes = "0"] = line.split(" ");
  if (word === "write") {
    const text = "x".repeat(Number(bytes));
    for (let number = 0; number < Number(count); number++) {
      await run.append(note(id, `${number} ${text}`));
      if (number % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    say({ written: count });
  }
  if (word === "memory") {
    for (let round = 0; round < 4; round++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    const { size: clients, last, dropped } = hub.events;
    say({ rss, used: heapUsed + external, clients, last, dropped });
  }
}
hub.close();
server.closeAllConnections();
server.close();
await store.close();
