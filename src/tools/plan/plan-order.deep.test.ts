import { globSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import type { Contract } from "../../contracts/contract.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { openFleet } from "../../testing/fleet.test-support.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("boss", {
    capabilities: ["primary", "orchestrator"],
    tools: ["delegate_task", "submit_plan"],
    mayDelegate: { tools: ["submit_plan", "write_file", "list_files", "read_file"] },
  }),
  testProfile("reader", { tools: ["list_files"] }),
  testProfile("writer", { tools: ["write_file"] }),
  testProfile("lead", {
    capabilities: ["orchestrator", "subtask"],
    tools: ["submit_plan"],
    mayDelegate: { tools: ["write_file", "list_files"] },
  }),
  testProfile("reviewer", { tools: ["read_file"], workspace: { allowWrites: false } }),
];

const step = (id: string, fields: object = {}) => ({
  id,
  title: id,
  description: id,
  profile: "reader",
  ...fields,
});

/** Writes the file that is called like its task. */
const writing = (name: string, fields: object = {}) =>
  step(name.replace("/", "-"), {
    ...{ title: name, description: name, profile: "writer", owns: [`${name}.txt`] },
    ...fields,
  });

/** Answers of children that wait until the test opens their gate, by task. */
class Gates {
  readonly #waiting: { readonly task: string; readonly id: string; go(): void }[] = [];
  readonly #open = new Set<string>();
  #isOpen = false;

  /** A child that asks again after a crash finds its gate open. */
  async pass(task: string, id: string): Promise<void> {
    if (this.#isOpen || this.#open.has(id)) return;
    await new Promise<void>((go) => this.#waiting.push({ task, id, go }));
  }

  async open(task: string): Promise<void> {
    const isShut = (one: { task: string; id: string }) =>
      one.task === task && !this.#open.has(one.id);
    const { id } = await until(`${task} waits`, () => this.#waiting.find(isShut));
    this.#open.add(id);
    for (const one of this.#waiting) if (one.id === id) one.go();
  }

  openAll(): void {
    this.#isOpen = true;
    for (const { go } of this.#waiting) go();
  }
}

interface Scene {
  /** What the root calls, turn by turn. */
  readonly calls: readonly { readonly tool: string; readonly input: object }[];
  /** What a nested lead calls. */
  readonly nested?: Readonly<Record<string, object>>;
  /** Tasks whose first child fails. */
  readonly failing?: readonly string[];
  /** What has been handed in has time to be merged before another gate is opened. */
  readonly isPatient?: true;
  /** How the root ends; absent: well. */
  readonly ends?: "failed";
}

function scriptOf({ calls, failing = [], nested = {} }: Scene, gates: Gates): Script {
  const firsts = new Map<string, string>();
  return async ({ caller, messages }): Promise<ScriptedReply | string> => {
    const { delegationId, profile, task, turn } = caller;
    if (profile === "boss") {
      const call = calls[turn - 1];
      return call === undefined
        ? (messages.at(-1)?.text ?? "")
        : { calls: [{ tool: call.tool, input: { ...call.input } }] };
    }
    if (profile === "lead") {
      const plan = nested[task];
      return turn > 1 || plan === undefined
        ? `${task} is led`
        : { calls: [{ tool: "submit_plan", input: { ...plan } }] };
    }
    if (profile === "writer" && turn === 1) {
      return { calls: [{ tool: "write_file", input: { path: `${task}.txt`, content: task } }] };
    }
    if (task === witness) return "seen";
    if (!firsts.has(task)) firsts.set(task, delegationId);
    await gates.pass(profile === "reviewer" ? "review" : task, delegationId);
    const isFirst = firsts.get(task) === delegationId;
    if (failing.includes(task) && isFirst) return { text: "x", served: "other/model" };
    return `${task} is done`;
  };
}

/** What no two runs may differ in. */
interface Told {
  /** For each child: the call that made it, and its contract without ids. */
  readonly contracts: Readonly<Record<string, unknown>>;
  readonly steps: Readonly<Record<string, number>>;
  readonly merged: readonly string[];
  readonly reports: readonly string[];
}

interface PlayOptions {
  /** The process dies when so many gates have been opened, and another one recovers the run. */
  readonly diesAfter?: number;
  /** Workers that share the work of the run. */
  readonly workers?: number;
}

/** Runs a scene with the gates opened in this order. */
async function play(
  scene: Scene,
  order: readonly string[],
  { diesAfter, workers }: PlayOptions = {},
): Promise<Told> {
  const gates = new Gates();
  const options = { profiles, model: scriptOf(scene, gates), maxConcurrent: 8 };
  await using fleet = workers === undefined ? undefined : await openFleet(workers, options);
  await using single = fleet ? undefined : await openEngine(options);
  let mandate = fleet?.client ?? (single as TestEngine);
  const { workspace } = mandate;
  initRepository(workspace, { "old.txt": "old\n" });
  const { runId, ...started } = await mandate.start({ task: "go", profile: "boss", workspace });
  let { result } = started;
  for (const [opened, task] of order.entries()) {
    if (opened === diesAfter) {
      mandate.abandon();
      mandate = await mandate.another(options);
      const [recovered] = await mandate.engine.recover();
      if (recovered === undefined) throw new Error("there is nothing to recover");
      ({ result } = recovered);
    }
    await gates.open(task);
    const hasHandedIn = async () => hasAnswered(await mandate.events(runId), task);
    if (task !== "review") await until(`${task} has answered`, hasHandedIn);
    if (scene.isPatient) await witnessMerge(mandate);
  }
  gates.openAll();
  expect((await result).status).toBe(scene.ends ?? "completed");
  const events = await mandate.events(runId);
  return { ...(await toldBy(mandate, events)), reports: reportsIn(workspace, events) };
}

const witness = "witness";

/** Another run makes a copy, changes it and merges it: what could be merged before was, by then. */
async function witnessMerge(mandate: TestEngine): Promise<void> {
  const workspace = testFolder();
  initRepository(workspace, { "old.txt": "old\n" });
  const task = JSON.stringify({ steps: [writing(witness)] });
  const { result } = await mandate.run({ task, profile: "plan-runner", workspace });
  expect(result.status).toBe("completed");
}

/** A child of this title is done with its own work, however long what it made waits. */
function hasAnswered(events: readonly StoredEvent[], title: string): boolean {
  const ids = idsOf(events, title);
  return events.some(
    ({ sub_agent_id: id = "", type }) =>
      ids.has(id) &&
      (type === "agent.subagent_waiting_for_merge" || type === "agent.subagent_failed"),
  );
}

function idsOf(events: readonly StoredEvent[], title: string): ReadonlySet<string> {
  const made = ofType(events, "agent.subagent_created");
  return new Set(
    made.filter(({ payload }) => payload.title === title).map((one) => one.sub_agent_id ?? ""),
  );
}

async function toldBy(
  { store, workspace }: Pick<TestEngine, "store" | "workspace">,
  events: readonly StoredEvent[],
): Promise<Omit<Told, "reports">> {
  const made = ofType(events, "agent.subagent_created").slice(1);
  const names = new Map(made.map((one) => [one.sub_agent_id ?? "", nameOf(one, made)]));
  const contracts: Record<string, unknown> = {};
  const steps: Record<string, number> = {};
  for (const { payload, sub_agent_id: id = "" } of made) {
    const name = names.get(id) ?? "";
    contracts[name] = withoutIds(await store.readContract(id), [
      dirname(workspace),
      ...names.keys(),
    ]);
    steps[name] = payload.step_idx;
  }
  const merges = ofType(events, "agent.worktree_merged");
  const merged = merges.filter(({ payload }) => (payload.files?.length ?? 0) > 0);
  return { contracts, steps, merged: merged.map((one) => names.get(one.sub_agent_id ?? "") ?? "") };
}

/** By its title, and the suffix of its key: `a`, `a-2`, `Review: a-review`. */
function nameOf(
  { payload }: StoredEvent<"agent.subagent_created">,
  made: readonly StoredEvent<"agent.subagent_created">[],
): string {
  const key = payload.call_id?.split("/")[1];
  const above = made.find(({ sub_agent_id: id }) => id === payload.parent_id)?.payload.title;
  return [...(above === undefined ? [] : [above]), key ?? payload.title].join(" › ");
}

/** Ids, and the commits and folders that are made from ids, are different in each run. */
function withoutIds({ parent, workspace, ...others }: Contract, ids: readonly string[]): unknown {
  const { run_id: _run, sub_agent_id: _caller, ...of } = parent;
  const { base: _base, copy, root: _root, ...where } = workspace;
  const text = JSON.stringify({
    ...others,
    parent: of,
    workspace: where,
    hasCopy: copy !== undefined,
  });
  return JSON.parse(text.replaceAll(new RegExp(ids.join("|"), "g"), "id"));
}

function reportsIn(workspace: string, events: readonly StoredEvent[]): string[] {
  const folder = `.mandate/reports/${events[0]?.run_id}`;
  const ids = new Set(ofType(events, "agent.subagent_created").map((one) => one.sub_agent_id));
  const names = globSync("**/*.md", { cwd: `${workspace}/${folder}` });
  return names.map((name) => (ids.has(name.slice(0, 6)) ? `id${name.slice(6)}` : name)).sort();
}

const plan = (...steps: readonly object[]) => ({ tool: "submit_plan", input: { steps } });

const branches = plan(
  writing("a"),
  writing("b"),
  writing("c", { depends_on: ["a"] }),
  writing("d", { depends_on: ["b"] }),
);

test("two runs of a plan are the same, whichever branch is slow", async () => {
  const slowA = await play({ calls: [branches] }, ["b", "a", "d", "c"]);
  const slowB = await play({ calls: [branches] }, ["a", "c", "b", "d"]);
  expect(slowA).toEqual(slowB);
  expect(slowA.steps).toEqual({ a: 1, b: 2, c: 3, d: 4 });
  expect(slowA.merged).toEqual(["a", "b", "c", "d"]);
  expect(slowA.reports).toEqual([1, 2, 3, 4].map((index) => `step-${index}-result.md`));
});

test("what a step made waits for earlier steps that have no child yet", async () => {
  const calls = [
    plan(
      step("look"),
      step("peek"),
      writing("c", { depends_on: ["look"] }),
      writing("d", { depends_on: ["peek"] }),
      writing("e"),
    ),
  ];
  const scene = { calls, isPatient: true } as const;
  const early = await play(scene, ["e", "peek", "d", "look", "c"]);
  const late = await play(scene, ["look", "c", "peek", "d", "e"]);
  expect(early).toEqual(late);
  expect(early.merged).toEqual(["c", "d", "e"]);
  expect(early.steps).toEqual({ look: 1, peek: 2, c: 3, d: 4, e: 5 });
});

test("a step that the plan names before what it depends on keeps its index, and is merged later", async () => {
  const calls = [plan(writing("end", { depends_on: ["b"] }), writing("a"), writing("b"))];
  const one = await play({ calls }, ["b", "a", "end"]);
  const other = await play({ calls }, ["a", "b", "end"]);
  expect(one).toEqual(other);
  expect(one.steps).toEqual({ end: 1, a: 2, b: 3 });
  expect(one.merged).toEqual(["a", "b", "end"]);
});

test("another try and a review have the index of their step, and later steps wait for that try", async () => {
  const calls = [
    plan(writing("a", { retries: 1 }), writing("b", { review: true }), step("c"), writing("d")),
  ];
  const scene = { calls, failing: ["a"], isPatient: true } as const;
  const fast = await play(scene, ["a", "a", "b", "review", "c", "d"]);
  const slow = await play(scene, ["d", "b", "c", "a", "a", "review"]);
  expect(fast).toEqual(slow);
  expect(fast.steps).toEqual({ a: 1, "a-2": 1, b: 2, "b-review": 2, c: 3, d: 4 });
  expect(fast.merged).toEqual(["a-2", "b", "d"]);
  const names = ["1-2", "2-review", "2", "3", "4"];
  expect(fast.reports).toEqual(names.map((name) => `step-${name}-result.md`).sort());
});

test("steps after one that failed for good are merged all the same", async () => {
  const calls = [
    plan(
      writing("a", { on_failure: "continue" }),
      writing("b", { depends_on: ["a"] }),
      writing("c"),
    ),
  ];
  const told = await play({ calls, failing: ["a"], ends: "failed" }, ["c", "a"]);
  expect(told).toMatchObject({ merged: ["c"], steps: { a: 1, c: 3 } });
});

test("a second plan of the same agent counts on, and children outside of plans do not disturb it", async () => {
  const calls = [
    { tool: "delegate_task", input: { profile: "reader", task: "first" } },
    plan(writing("a"), step("b")),
    plan(step("c"), writing("d")),
  ];
  const one = await play({ calls }, ["first", "a", "b", "c", "d"]);
  const other = await play({ calls }, ["first", "b", "a", "d", "c"]);
  expect(one).toEqual(other);
  const names = ["id", "step-2", "step-3", "step-4", "step-5"];
  expect(one.reports).toEqual(names.map((name) => `${name}-result.md`));
  expect(one.steps).toEqual({ first: 1, a: 2, b: 3, c: 4, d: 5 });
});

test("plans below each other count their own steps", async () => {
  const led = (id: string, owns: string) => step(id, { profile: "lead", owns: [owns] });
  const calls = [plan(led("left", "l/**"), led("right", "r/**"))];
  const nested = {
    left: { steps: [writing("l/1"), writing("l/2", { depends_on: ["l-1"] })] },
    right: { steps: [step("r-1"), writing("r/2")] },
  };
  const one = await play({ calls, nested }, ["l/1", "l/2", "r-1", "r/2"]);
  const other = await play({ calls, nested }, ["r/2", "r-1", "l/1", "l/2"]);
  expect(one).toMatchObject({ contracts: other.contracts, steps: other.steps });
  expect(one.reports).toEqual(other.reports);
  const names = ["1.1", "1.2", "1", "2.1", "2.2", "2"];
  expect(one.reports).toEqual(names.map((name) => `step-${name}-result.md`).sort());
  expect(one.steps).toEqual({
    ...{ left: 1, "left › l-1": 1, "left › l-2": 2 },
    ...{ right: 2, "right › r-1": 1, "right › r-2": 2 },
  });
});

/** What others are compared with is played once, by the first test that needs it. */
function once(play: () => Promise<Told>): () => Promise<Told> {
  let told: Promise<Told> | undefined;
  return () => {
    told ??= play();
    return told;
  };
}

describe("a process that dies", () => {
  const scene = {
    calls: [
      plan(
        writing("a", { retries: 1 }),
        step("peek"),
        writing("c", { depends_on: ["a"] }),
        writing("d", { depends_on: ["peek"], review: true }),
      ),
    ],
    failing: ["a"],
  };
  const undisturbed = once(() => play(scene, ["a", "a", "c", "peek", "d", "review"]));

  test.each([1, 2, 3, 4])("changes nothing of that after %d answers", async (diesAfter) => {
    const died = await play(scene, ["peek", "d", "a", "a", "c", "review"], { diesAfter });
    expect(died).toEqual(await undisturbed());
    expect(died.merged).toEqual(["a-2", "c", "d"]);
  });
});

describe("workers of a distributed run", () => {
  const scene = { calls: [branches, plan(step("e"), writing("f"))] };
  const alone = once(() => play(scene, ["a", "b", "c", "d", "e", "f"]));

  test.each([
    ["b", "a", "d", "c", "f", "e"],
    ["a", "c", "b", "d", "e", "f"],
  ])(
    "count as one process does when they answer in the order %s %s %s %s %s %s",
    async (...order) => {
      const told = await play(scene, order, { workers: 3 });
      expect(told).toEqual(await alone());
      expect(told.merged).toEqual(["a", "b", "c", "d", "f"]);
    },
  );
});
