import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccessTokens } from "../../control/access/access-tokens.ts";
import { openEngine } from "../../testing/engine-fixture.ts";
import { serveRuntime } from "../http/serve-runtime.ts";
import {
  type FixtureServer,
  startFixtureServer,
} from "./conformance/fixture-server.test-support.ts";
import { failuresOf, runSuite, type SuiteRun } from "./conformance/run-suite.test-support.ts";
import { startTokenProxy } from "./conformance/token-proxy.test-support.ts";

const timeout = 60_000;

/**
 * The official suite against our own stack. The three runs go on side by side, each in a process of
 * its own, so that all of it takes as long as the longest of them.
 */
describe("the official conformance suite", { timeout }, () => {
  let server: FixtureServer;
  let of2025: Promise<SuiteRun>;
  let of2026: Promise<SuiteRun>;
  let older: Promise<SuiteRun>;

  beforeAll(async () => {
    server = await startFixtureServer();
    const requiring = (revision: string) => ["--url", server.url, "--requirements", revision];
    of2025 = runSuite("conformance-2026", requiring("2025-11-25"));
    of2026 = runSuite("conformance-2026", requiring("2026-07-28"));
    older = runSuite("conformance-2025", ["--url", server.url]);
  });

  afterAll(() => server.close());

  it("passes in every scenario of 2025-11-25, sessions and broken streams included", async () => {
    const run = await of2025;
    expect(failuresOf(run)).toEqual([]);
    expect(run.scenarios, run.output).toHaveLength(33);
    expect(run.scenarios).toEqual(
      expect.arrayContaining([
        ...["server-initialize", "server-session-lifecycle", "server-sse-polling"],
        ...["server-sse-multiple-streams", "dns-rebinding-protection", "tools-call-elicitation"],
      ]),
    );
  });

  it("passes in every scenario of 2026-07-28", async () => {
    const run = await of2026;
    expect(failuresOf(run)).toEqual([]);
    expect(run.scenarios, run.output).toHaveLength(50);
    expect(run.scenarios).toEqual(
      expect.arrayContaining(["server-stateless", "caching", "http-header-validation"]),
    );
  });

  it("passes in every scenario of the tasks extension", async () => {
    const { checks, output } = await of2026;
    const ofTasks = checks.filter(({ scenario }) => scenario.startsWith("tasks-"));
    expect(failuresOf({ checks: ofTasks, scenarios: [], output })).toEqual([]);
    const scenarios = new Set(ofTasks.map(({ scenario }) => scenario));
    expect(scenarios.size, output).toBe(10);
    // The suite has no check of its own for status notifications yet, and says so.
    const passed = ofTasks.filter(({ status }) => status === "SUCCESS");
    expect(passed.length, output).toBeGreaterThanOrEqual(43);
    expect(ofTasks.filter(({ status }) => status === "SKIPPED")).toHaveLength(1);
  });

  it("passes in the release of the suite that came with 2025-11-25", async () => {
    const run = await older;
    expect(failuresOf(run)).toEqual([]);
    expect(run.scenarios, run.output).toHaveLength(30);
  });
});

/** What can be asked of any server: the others call tools, resources and prompts of the suite. */
const ofAnyServer = {
  "2025-11-25": [
    ...["server-initialize", "server-session-lifecycle", "ping", "tools-list", "prompts-list"],
    ...["resources-list", "server-sse-multiple-streams", "dns-rebinding-protection"],
    "completion-complete",
  ],
  "2026-07-28": [
    ...["tools-list", "prompts-list", "resources-list", "server-sse-multiple-streams"],
    ...["dns-rebinding-protection", "sep-2164-resource-not-found", "http-header-validation"],
    ...["input-required-result-unsupported-methods", "caching", "completion-complete"],
  ],
};

describe("the server itself, with tokens and all", { timeout }, () => {
  it("passes in what can be asked of any server", async () => {
    await using engine = await openEngine({ model: () => ({ text: "It is done." }) });
    const tokens = new AccessTokens(engine.store, `${engine.home}/token`);
    const admin = { id: "admin", role: "admin" } as const;
    const { token } = await tokens.create({ name: "suite", role: "operator" }, admin);
    const host = { runtime: engine, tokens, workspaces: [engine.workspace], startedAt: 0 };
    const server = await serveRuntime({ host, port: 0, log: () => undefined });
    const proxy = await startTokenProxy(`${server.url}/mcp`, token);
    try {
      const runs = Object.entries(ofAnyServer).map(async ([version, scenarios]) => {
        const args = ["--url", proxy.url, "--requirements", version, "--timeout", "5000"];
        const run = await runSuite("conformance-2026", args);
        const checks = run.checks.filter(({ scenario }) => scenarios.includes(scenario));
        expect(failuresOf({ ...run, checks })).toEqual([]);
        expect(new Set(checks.map(({ scenario }) => scenario)), run.output).toEqual(
          new Set(scenarios),
        );
      });
      await Promise.all(runs);
    } finally {
      await proxy.close();
      await server.close(100);
    }
  });
});
