import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc, { type Arbitrary } from "fast-check";
import type { ScriptedCall } from "../../../src/models/scripted/playbook.ts";
import {
  ofType,
  openEngine,
  type TestEngine,
  testProfile,
} from "../../../src/testing/engine-fixture.ts";
import { nastyJson, nastyText } from "../hostile-text.ts";
import { defineTarget } from "../target.ts";

/** An input that each tool accepts. */
const valid: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  read_file: { path: "in/a.txt", offset: 1, limit: 5 },
  write_file: { path: "new.txt", content: "x" },
  edit_file: { path: "in/a.txt", old_text: "inside", new_text: "inside", replace_all: true },
  list_files: { path: ".", recursive: true },
  glob: { pattern: "**/*.txt", path: "." },
  grep: { pattern: "ins(ide)?", path: ".", glob: "*.txt" },
  document_query: { path: "in/a.txt", query: "inside" },
  web_fetch: { url: "http://127.0.0.1:1/" },
  complete_task: { summary: "done" },
  submit_for_review: { message: "look" },
  ask_user: { message: "why?" },
  memory_load: { query: "x" },
  memory_save: { content: "remember", title: "t" },
  load_skill: { name: "writing" },
  delegate_task: { profile: "helper", task: "x" },
  delegate_to_agent: { agent: "@who", task: "x" },
  spawn: { task: "x", profile: "helper" },
  spawn_await: { job_ids: "*" },
  submit_plan: { steps: [{ title: "a", description: "b", profile: "helper" }] },
  list_sub_agents: {},
  get_delegation_result: { delegationId: "ffffff" },
  cancel_delegation: { delegationId: "ffffff" },
  send_message: { delegationId: "ffffff", message: "x" },
  peek_result: { delegationId: "ffffff" },
  search_result: { delegationId: "ffffff", query: "x" },
  slice_result: { delegationId: "ffffff", from: 1 },
  interject: { message: "look" },
  no_such_tool: {},
  Read_File: { path: "in/a.txt" },
  __proto__x: {},
};

/** What lies in the workspace for those who look for a way out of it. */
const traps = ["in", "out", "chain", "file-out", "loop", "dangling", "slash", "home-link"];

const steps = [
  ...["..", ".", "", ...traps, "new"],
  ...["a.txt", "canary.txt", "outside", "etc/passwd", "proc/self/environ", "~", "-rf", "..\u200b"],
  ...[
    "%2e%2e",
    "..\\",
    "\0",
    "*",
    "**",
    "{..,out}",
    "[.][.]",
    "file://",
    "CON",
    "\ud800",
    ".git/config",
  ],
];

/** Paths made of what leads out in one way or another. */
const paths: Arbitrary<string> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        "",
        "",
        "/",
        "./",
        "../",
        "//",
        "<workspace>/",
        "<workspace>-evil/",
        "<home>/",
      ),
      fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 5 }),
    )
    .map(([start, parts]) => start + parts.join("/")),
  nastyText,
  fc.nat(5000).map((times) => "a/".repeat(times)),
);

const calls: Arbitrary<ScriptedCall> = fc.constantFrom(...Object.keys(valid)).chain((tool) => {
  const good = valid[tool] ?? {};
  const field = fc.constantFrom(...Object.keys(good), "surprise", "__proto__", "constructor");
  const changed = fc.tuple(field, fc.oneof(nastyJson, paths, fc.constant("x".repeat(1 << 20)))).map(
    // As a parser makes it: `__proto__` becomes a key like any other.
    ([name, value]) => Object.fromEntries([...Object.entries(good), [name, value]]),
  );
  const input = fc.oneof({ weight: 5, arbitrary: changed }, fc.constant(good), nastyJson);
  return input.map((each) => ({ tool, input: each as never }));
});

const canary = "canary-7f3a: nobody reads this";

function layTraps({ home, workspace }: TestEngine): { readonly outside: string } {
  const outside = join(dirname(workspace), "outside");
  const twin = `${workspace}-evil`;
  for (const folder of [outside, twin, join(workspace, "in")])
    mkdirSync(folder, { recursive: true });
  for (const folder of [outside, twin]) writeFileSync(join(folder, "canary.txt"), canary);
  writeFileSync(join(workspace, "in/a.txt"), "inside\n");
  const links = {
    out: outside,
    chain: "out",
    "file-out": join(outside, "canary.txt"),
    loop: "loop",
  };
  const others = { dangling: join(outside, "missing"), slash: "/", "home-link": home };
  for (const [name, to] of Object.entries({ ...links, ...others }))
    symlinkSync(to, join(workspace, name));
  return { outside };
}

export const toolCalls = defineTarget({
  name: "tool-calls",
  surface: "tools",
  promise:
    "whatever a model calls, each call is refused or made once, nothing outside is touched, and the log holds",
  caseMs: 8000,
  cases: 40,
  async open() {
    let said: readonly ScriptedCall[] = [];
    const engine = await openEngine({
      profiles: [testProfile("hostile"), testProfile("helper", { tools: [] })],
      model: ({ caller }) =>
        caller.profile === "hostile" && caller.turn === 1 ? { calls: said } : "done",
      limits: {
        ...{ maxTokens: 9_000_000, defaultTokens: 9_000_000, runTokens: 9_000_000 },
        ...{ maxRetries: 0, askDeadlineMs: 1, toolOutputBytes: 4096 },
      },
    });
    const { workspace } = engine;
    const { outside } = layTraps(engine);
    const resolve = (input: unknown): unknown =>
      JSON.parse(
        JSON.stringify(input ?? null)
          .replaceAll("<workspace>", workspace)
          .replaceAll("<home>", engine.home),
      );
    return {
      inputs: fc.array(calls, { minLength: 1, maxLength: 6 }),
      async check(input: readonly ScriptedCall[]) {
        said = input.map((call) => ({ ...call, input: resolve(call.input) as never }));
        const { events, result } = await engine.run({ task: "go", profile: "hostile", workspace });
        assert.ok(["completed", "failed"].includes(result.status));
        const own = events.filter(({ sub_agent_id }) => sub_agent_id === result.delegationId);
        const started = ofType(own, "agent.tool_started").map(({ payload }) => payload.call_id);
        const denied = ofType(own, "agent.tool_denied").map(({ payload }) => payload.call_id);
        assert.equal(new Set(started).size, started.length);
        assert.ok(
          denied.every((id) => !started.includes(id)),
          "a denied call was begun",
        );
        const told = JSON.stringify(events);
        assert.ok(!told.includes("canary-7f3a"), "something outside was read");
        assert.deepEqual(readdirSync(outside), ["canary.txt"]);
        assert.equal(readFileSync(join(outside, "canary.txt"), "utf8"), canary);
        assert.ok(
          readdirSync(dirname(workspace)).every((name) => known.has(name) || name.startsWith(".")),
        );
        for (const name of readdirSync(workspace)) {
          if (!inWorkspace.has(name))
            rmSync(join(workspace, name), { recursive: true, force: true });
        }
      },
      close: () => engine[Symbol.asyncDispose](),
    };
  },
});

const known = new Set(["home", "workspace", "workspace-evil", "outside", "agents"]);
const inWorkspace = new Set(traps);
