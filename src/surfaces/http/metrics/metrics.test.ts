import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "vitest";
import { openStore } from "../../../open-store.ts";
import type { Store } from "../../../ports/store.ts";
import { openEngine, testProfile } from "../../../testing/engine-fixture.ts";
import { about, StoredRun } from "../../../testing/stored-run.ts";
import { EventHub } from "../streams/event-hub.ts";
import { Counter } from "./families.ts";
import { Metrics } from "./metrics.ts";

/** The series of a scrape, by name and labels; throws at a line that is none. */
function seriesOf(text: string): Map<string, number> {
  const series = new Map<string, number>();
  const label = /[a-z_]+="(?:[^"\\\n]|\\["\\n])*"/.source;
  const line = new RegExp(`^([a-z_]+(?:\\{${label}(?:,${label})*\\})?) ([0-9.e+-]+)$`);
  for (const one of text.trimEnd().split("\n")) {
    if (one.startsWith("#")) continue;
    const [, name, value] = line.exec(one) ?? [];
    assert.ok(name !== undefined, `no series: ${one}`);
    assert.ok(!series.has(name), `twice: ${name}`);
    series.set(name, Number(value));
  }
  return series;
}

describe("metrics", () => {
  let store: Store;
  let hub: EventHub;
  let metrics: Metrics;

  beforeEach(async () => {
    store = await openStore({ database: ":memory:" });
    hub = new EventHub(store);
    metrics = new Metrics(hub, store, "1.2.3");
  });

  afterEach(async () => {
    metrics.close();
    hub.close();
    await store.close();
  });

  it("count what a real run did, and how much is open meanwhile", async () => {
    await using engine = await openEngine({
      profiles: [testProfile("lead"), testProfile("helper")],
      model: ({ caller }) => {
        if (caller.profile === "helper") return { text: "helped" };
        if (caller.turn > 1) return { text: "all done" };
        return {
          calls: [
            { tool: "delegate_task", input: { profile: "helper", task: "help" } },
            { tool: "no_such_tool", input: {} },
          ],
        };
      },
    });
    const ear = new EventHub(engine.store);
    const figures = new Metrics(ear, engine.store, "1.2.3");
    const { result } = await engine.run({ task: "lead", profile: "lead" });
    assert.equal(result.status, "completed");
    const series = seriesOf(await figures.render("text"));
    const expected = {
      mandate_runs_started_total: 1,
      'mandate_runs_finished_total{outcome="succeeded"}': 1,
      'mandate_run_duration_seconds_count{outcome="succeeded"}': 1,
      'mandate_delegations_started_total{profile="helper"}': 1,
      'mandate_delegations_closed_total{profile="helper",final_status="completed",close_reason="report_accepted"}': 1,
      'mandate_tool_calls_total{tool="delegate_task",outcome="completed"}': 1,
      'mandate_tool_calls_total{tool="no_such_tool",outcome="denied"}': 1,
      mandate_runs_open: 0,
      'mandate_delegations_open{status="running"}': 0,
    };
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(series.get(name), value, name);
    }
    const requests = [...series].filter(([name]) =>
      name.startsWith("mandate_model_requests_total"),
    );
    assert.equal(requests[0]?.[1], 3);
    figures.close();
    ear.close();
  });

  it("know what was open before they began, and what became of it", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    const ask = { ask_id: store.newAskId(), call_id: "c", question: "?", deadline_at: 9e15 };
    await run.append(about(id, "agent.asked", { ...ask, default: null }));
    const later = new EventHub(store);
    const figures = new Metrics(later, store, "1");
    let series = seriesOf(await figures.render("text"));
    assert.equal(series.get("mandate_runs_open"), 1);
    assert.equal(series.get('mandate_delegations_open{status="running"}'), 1);
    assert.equal(series.get("mandate_asks_open"), 1);
    await run.append(
      about(id, "agent.answered", { ask_id: ask.ask_id, answer: "yes", by: "person" }),
      about(id, "agent.subagent_failed", {
        code: "cancelled",
        cause: { code: "cancelled", text: "no" },
        error: "no",
      }),
    );
    series = seriesOf(await figures.render("text"));
    assert.equal(series.get('mandate_delegations_open{status="running"}'), 0);
    assert.equal(series.get('mandate_delegations_open{status="failed"}'), 1);
    assert.equal(series.get("mandate_asks_open"), 0);
    assert.equal(series.get('mandate_asks_answered_total{by="person"}'), 1);
    figures.close();
    later.close();
  });

  it("keep a thousand names of tools few, and none of them ends a line", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    for (let number = 0; number < 1000; number++) {
      const tool = `${number} "}\n\\evil\r\u0000_total 9\n# ${"x".repeat(number)}`;
      const denial = { call_id: "c", tool, rule: `rule ${number}\n`, error: "no" };
      void run.append(about(id, "agent.tool_denied", denial));
    }
    await run.append();
    await new Promise((resolve) => setImmediate(resolve));
    const text = await metrics.render("text");
    const calls = [...seriesOf(text)].filter(([name]) =>
      name.startsWith("mandate_tool_calls_total"),
    );
    assert.equal(calls.length, 101);
    assert.equal(
      calls.reduce((sum, [, value]) => sum + value, 0),
      1000,
    );
    assert.ok(text.length < 100_000);
    assert.ok(text.includes('mandate_tool_calls_total{tool="other",outcome="denied"} 900'));
  });

  it("answer in both formats, with requests by route and the process itself", async () => {
    metrics.countRequest("startRun", 201, 12);
    metrics.countRequest("startRun", 429, 1);
    const principal = { id: "p", role: "viewer" } as const;
    const { signal } = new AbortController();
    const context = { params: {}, outgoing: undefined, isPage: false, signal };
    const plain = await metrics.mount(new Request("http://x/metrics"), principal, context);
    assert.equal(plain.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const text = await plain.text();
    const series = seriesOf(text);
    assert.equal(series.get('mandate_http_requests_total{route="startRun",status="201"}'), 1);
    const bucket = 'mandate_http_request_duration_seconds_bucket{route="startRun",le=';
    assert.equal(series.get(`${bucket}"0.01"}`), 1);
    assert.equal(series.get(`${bucket}"0.025"}`), 2);
    assert.equal(series.get(`${bucket}"+Inf"}`), 2);
    assert.ok((series.get("process_resident_memory_bytes") ?? 0) > 1e6);
    const build = `mandate_build_info{version="1.2.3",node="${process.version}"}`;
    assert.equal(series.get(build), 1);
    assert.match(text, /^# TYPE mandate_http_requests_total counter$/m);
    const headers = { accept: "application/openmetrics-text; version=1.0.0" };
    const open = await metrics.mount(new Request("http://x/", { headers }), principal, context);
    const body = await open.text();
    assert.match(open.headers.get("content-type") ?? "", /openmetrics-text/);
    assert.match(body, /^# TYPE mandate_http_requests counter$/m);
    assert.ok(body.endsWith("# EOF\n"));
    seriesOf(body);
  });

  it("count no amount that is none", () => {
    const counter = new Counter("x", "help");
    for (const amount of [Number.NaN, -1, Number.POSITIVE_INFINITY]) counter.add({}, amount);
    const lines: string[] = [];
    counter.write(lines, "text");
    assert.equal(lines.length, 2);
  });
});
