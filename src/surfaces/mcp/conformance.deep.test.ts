import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import {
  type FixtureServer,
  startFixtureServer,
} from "./conformance/fixture-server.test-support.ts";
import { failuresOf, runSuite, type SuiteRun } from "./conformance/run-suite.test-support.ts";
import { startStdioBridge } from "./conformance/stdio-bridge.test-support.ts";
import { startTokenProxy } from "./conformance/token-proxy.test-support.ts";
import { McpDesk } from "./mcp-desk.test-support.ts";

const timeout = 60_000;

/**
 * The official suite against a server on our HTTP handler, protocol and tasks that has the tools,
 * prompts and resources that the suite names: every scenario. The runs are parallel processes.
 */
describe("a server with the fixtures of the official conformance suite", { timeout }, () => {
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

/**
 * What the product cannot be asked, because the suite looks for tools, prompts and resources of its
 * own: by what is missing, the scenarios, or single checks of a scenario whose others apply. These
 * run against the server with fixtures alone; everything else runs against the product as well.
 */
const needsFixture: Readonly<Record<string, readonly string[]>> = {
  "tools test_*": [
    ...["simple-text", "image", "audio", "embedded-resource", "mixed-content", "error"].map(
      (name) => `tools-call-${name}`,
    ),
    ...["tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation"],
    ...["elicitation-sep1034-defaults", "elicitation-sep1330-enums", "server-sse-polling"],
    ...["json-schema-2020-12", "http-custom-header-server-validation"],
  ],
  "tools test_input_required_*": [
    ...["basic-elicitation", "basic-sampling", "basic-list-roots", "request-state", "multi-round"],
    ...["multiple-input-requests", "missing-input-response", "non-tool-request", "result-type"],
    ...["tampered-state", "capability-check", "ignore-extra-params"],
  ].map((name) => `input-required-result-${name}`),
  "tools slow_compute, failing_job, greet, confirm_delete, multi_input, test_tool_with_task": [
    ...["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal"],
    ...["mrtr-input", "mrtr-composition", "request-headers", "dispatch-and-envelope"],
    "required-task-error",
  ].map((name) => `tasks-${name}`),
  "prompts test_*": ["simple", "with-args", "embedded-resource", "with-image"].map(
    (name) => `prompts-get-${name}`,
  ),
  "resources test://*": [
    ...["resources-read-text", "resources-read-binary", "resources-templates-read"],
    ...["resources-subscribe", "resources-unsubscribe"],
  ],
  "log messages, which the product does not send": ["logging-set-level", "tools-call-with-logging"],
  "diagnostic tools of server-stateless": [
    ...["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"],
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
  ],
};

/** By what the suite is run: its release, its options, and how many scenarios need no fixture. */
const runs = [
  ["2025-11-25", "conformance-2026", ["--requirements", "2025-11-25", "--timeout", "10000"], 9],
  ["2026-07-28", "conformance-2026", ["--requirements", "2026-07-28", "--timeout", "10000"], 13],
  ["2025-11-25, by the release of its time", "conformance-2025", [], 8],
] as const;

const playbook = "version: 1\nname: conformance\nreplies:\n  - text: Done\n";

describe("`mandate serve` itself, as a process with tokens", { timeout }, () => {
  it.each(runs)("passes what needs no fixture of %s", async (_revision, suite, args, count) => {
    await using desk = new McpDesk(playbook);
    const made = await desk.type(["token", "create", "suite", "--role", "operator", "--json"]);
    const { token } = JSON.parse(made.out);
    const child = desk.begin(["serve", "--port", "0", "--trust-folder"]);
    let out = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (out += chunk));
    const url = await until("the server listens", () => /http:\/\/127\.0\.0\.1:\d+/.exec(out)?.[0]);
    const proxy = await startTokenProxy(`${url}/mcp`, token);
    try {
      const run = await runSuite(suite, ["--url", proxy.url, ...args]);
      const excused = Object.values(needsFixture).flat();
      const isExcused = ({ id, scenario }: { id: string; scenario: string }) =>
        excused.includes(id) || excused.includes(scenario);
      expect(failuresOf({ ...run, checks: run.checks.filter((one) => !isExcused(one)) })).toEqual(
        [],
      );
      // Nothing is excused that would pass.
      const failed = run.checks.filter(
        ({ status }) => status === "FAILURE" || status === "WARNING",
      );
      const needed = new Set(failed.flatMap(({ id, scenario }) => [id, scenario]));
      const known = new Set(run.checks.flatMap(({ id, scenario }) => [id, scenario]));
      expect(excused.filter((one) => known.has(one) && !needed.has(one))).toEqual([]);
      const passed = run.scenarios.filter((one) => !excused.includes(one));
      expect(passed, run.output).toHaveLength(count);
    } finally {
      await proxy.close();
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    }
  });
});

/** The scenarios that need no fixture, and are not about HTTP. */
const overStdio = {
  "2025-11-25": [
    ...["server-initialize", "ping", "completion-complete"],
    ...["tools-list", "prompts-list", "resources-list"],
  ],
  "2026-07-28": [
    ...["tools-list", "prompts-list", "resources-list", "completion-complete", "caching"],
    ...["sep-2164-resource-not-found", "input-required-result-unsupported-methods"],
    "input-required-result-validate-input",
  ],
};

describe("`mandate mcp` itself, as a process behind a bridge", { timeout }, () => {
  it.each(Object.entries(overStdio))(
    "passes what needs no fixture of %s",
    async (revision, scenarios) => {
      await using desk = new McpDesk(playbook);
      await using bridge = await startStdioBridge(() => desk.start().child);
      for (const scenario of scenarios) {
        const args = ["--url", bridge.url, "--scenario", scenario, "--spec-version", revision];
        const run = await runSuite("conformance-2026", args);
        expect(failuresOf(run)).toEqual([]);
        expect(
          run.checks.some(({ status }) => status === "SUCCESS"),
          run.output,
        ).toBe(true);
      }
    },
  );
});
