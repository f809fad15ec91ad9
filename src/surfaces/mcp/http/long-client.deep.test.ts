import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { AccessTokens } from "../../../control/access/access-tokens.ts";
import { openEngine } from "../../../testing/engine-fixture.ts";
import { startServer } from "../../http/serve.ts";
import { serveMandate } from "./serve-mandate.ts";

it("goes on in another run for a client that delegates more than a run may hold", async () => {
  const maxChildren = 4;
  await using engine = await openEngine({
    model: () => ({ text: "done" }),
    limits: { maxChildren },
  });
  const workspaces = [engine.workspace];
  const tokens = new AccessTokens(engine.store, `${engine.home}/token`);
  const mcp = serveMandate({ runtime: engine, workspaces });
  const host = { runtime: engine, tokens, workspaces, startedAt: 0 };
  const server = await startServer({ host, port: 0, routes: [], mcp: mcp.handle });
  const admin = { id: "admin", role: "admin" } as const;
  const { token } = await tokens.create({ name: "desk", role: "operator" }, admin);
  const client = new Client(
    { name: "desk", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  onTestFinished(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }),
  );
  expect(client.getProtocolEra()).toBe("modern");
  for (let count = 0; count < maxChildren * 2; count += 1) {
    const input = { profile: "general", task: `task ${count}` };
    const { content, isError } = await client.callTool({ name: "delegate_task", arguments: input });
    expect(isError ?? false, JSON.stringify(content)).toBe(false);
  }
  await mcp.close();
  await server.close(100);
  const runs = await engine.store.listRuns({});
  // The client itself is one of those that a run holds.
  expect(runs.map(({ delegations }) => delegations)).toEqual([3, 4, 4]);
  expect(runs.map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded", "succeeded"]);
});
