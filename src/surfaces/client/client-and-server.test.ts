import { join } from "node:path";
import { expect, test } from "vitest";
import { AccessTokens, installationToken } from "../../control/access/access-tokens.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { serveRuntime } from "../http/serve-runtime.ts";
import { MandateClient } from "./mandate-client.ts";

test("a client follows a run over a real connection, and sees what the log has", async () => {
  await using engine = await openEngine({
    profiles: [
      testProfile("lead", { tools: ["delegate_task"] }),
      testProfile("worker", { tools: [] }),
    ],
    model: ({ caller, messages }) =>
      caller.depth === 0 && messages.at(-1)?.role === "user"
        ? { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "dig" } }] }
        : { text: "done" },
  });
  const file = join(engine.home, "tokens", "local");
  const tokens = new AccessTokens(engine.store, file);
  const workspaces = [engine.workspace];
  const server = await serveRuntime({
    host: { runtime: engine, tokens, workspaces, startedAt: Date.now() },
    port: 0,
  });
  try {
    const client = new MandateClient({ url: server.url, token: installationToken(file) });
    const { runId, url } = await client.startRun({ task: "lead", profile: "lead" });
    expect(url).toBe(`${server.url}/api/v1/runs/${runId}`);
    const followed: string[] = [];
    for await (const { hash } of client.events({ runId })) followed.push(hash);
    const stored = await engine.events(runId);
    expect(followed).toEqual(stored.map(({ hash }) => hash));
    const run = await client.waitFor(runId);
    expect(run).toMatchObject({ state: "succeeded", delegations: 2 });
    // The same path gives a list to a client that does not ask for a stream.
    const [delegationId = ""] = run.tree.map((node) => node.delegationId);
    const { items } = await client.listDelegationEvents({ delegationId });
    expect(items[0]?.type).toBe("agent.subagent_created");
    const [item] = (await client.listInbox()).items.toReversed();
    for await (const first of client.inboxEvents({ after: 0 })) {
      // The list names who started the run as well.
      expect({ ...first, startedBy: "local" }).toEqual(item);
      break;
    }
    expect(Object.keys(await client.getOpenApi())).toContain("paths");
  } finally {
    await server.close(100);
  }
});
