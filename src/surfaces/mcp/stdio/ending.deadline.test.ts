import { expect, test } from "vitest";
import { McpDesk } from "../mcp-desk.test-support.ts";
import { beginCall, playbook } from "./ending.test-support.ts";

/** Promised are five seconds; what a busy machine adds is no defect. */
const ceilingMs = 20_000;

test.each(["end of input", "SIGINT", "SIGTERM", "broken pipes"] as const)(
  "%s in the middle of a call ends the process within seconds",
  async (how) => {
    await using desk = new McpDesk(playbook);
    const server = desk.start();
    await beginCall(server);
    const { child } = server;
    const began = performance.now();
    if (how === "end of input") child.stdin.end();
    else if (how !== "broken pipes") child.kill(how);
    else for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
    expect(await server.exit()).toEqual({ code: 0 });
    expect(performance.now() - began).toBeLessThan(ceilingMs);
  },
);
