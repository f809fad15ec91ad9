import { expect, it } from "vitest";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { openDesk } from "./beside.test-support.ts";

const rounds = 3;

it("starts a worker, a server and a client at once on an empty database", {
  timeout: 240_000,
}, async () => {
  for (let round = 0; round < rounds; round++) {
    const url = await freshDatabase();
    try {
      using desk = openDesk(url);
      const worker = desk.mandate("worker");
      const server = desk.mandate("serve", "--trust-folder", "--port", "0");
      const client = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
      await Promise.all([worker.printed("takes work"), server.printed("The token is in")]);
      expect(await client.ended, client.said.err).toBe(0);
      expect(client.said.out).toContain("Count the boats");
      // What the engine says while it makes its tables is nobody's concern, and no driver complains.
      const lines = `${worker.said.err}${server.said.err}`.trim().split("\n");
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: "info" });
      expect(worker.said.err).toContain("This worker takes work from default");
      expect(client.said.err).not.toMatch(/migration|Deprecation/);
    } finally {
      await dropDatabase(url);
    }
  }
});
