import type { RawServer } from "../mcp-desk.test-support.ts";

/** For tests of how a server over pipes ends: a call that takes longer than any of them. */
export const playbook = `
version: 1
name: ending
replies:
  - text: "Done"
    latency_ms: 600000
`;

/** Begins a delegation, and waits until its model is asked. */
export async function beginCall(server: RawServer, profile = "researcher"): Promise<void> {
  await server.initialize();
  server.send({
    id: 1,
    method: "tools/call",
    params: {
      name: "delegate_task",
      arguments: { profile, task: "x" },
      _meta: { progressToken: "t" },
    },
  });
  await server.next(({ params }) => String(params?.["message"]).includes("model"));
}
