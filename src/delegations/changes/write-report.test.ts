import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import type { StoredEvent } from "../../events/event.ts";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import { crashPoints } from "../../testing/crash-points.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "list_files"] }),
  testProfile("worker", { tools: ["list_files"] }),
  testProfile("planner", {
    capabilities: ["orchestrator", "primary"],
    tools: ["submit_plan"],
    mayDelegate: { tools: ["list_files"] },
  }),
];

/** Delegates twice in one turn; each child says what its task was. */
const script: Script = ({ caller }) => {
  if (caller.depth > 0) return `# Found\n\n${caller.task} is done`;
  if (caller.turn > 1) return "done";
  const tasks = ["first\nwith care", "second"];
  return {
    calls: tasks.map((task) => ({ tool: "delegate_task", input: { profile: "worker", task } })),
  };
};

/** The two tasks as steps of a plan, which have indexes. */
const planned = {
  profile: "plan-runner",
  task: JSON.stringify({
    steps: ["first\nwith care", "second"].map((description, place) => ({
      ...{ id: `s${place}`, title: description.split("\n")[0], description, profile: "worker" },
    })),
  }),
};

const limits = { reportPathPattern: "reports/new/<idx>.md" };
const reportOf = (run: string, name: string) => `.mandate/reports/${run}/${name}-result.md`;

/** By title. */
function childrenOf(events: readonly StoredEvent[]): Readonly<Record<string, string>> {
  const [, ...made] = ofType(events, "agent.subagent_created");
  return Object.fromEntries(made.map(({ payload, sub_agent_id: id }) => [payload.title, id ?? ""]));
}

describe("the report of a child", () => {
  it("is Markdown where the contract's pattern says, by run and step, and the log has its path", async () => {
    await using mandate = await openEngine({ profiles, model: script });
    const { workspace } = mandate;
    const { events, result, runId } = await mandate.run({ ...planned, workspace });
    const paths = ofType(events, "agent.subagent_waiting_for_merge").map(
      ({ payload }) => payload.output_path,
    );
    const [first, second] = [reportOf(runId, "step-1"), reportOf(runId, "step-2")];
    // The root's own report goes to whoever started the run, not into the workspace.
    expect(new Set(paths)).toEqual(new Set([first, second, undefined]));
    expect(readFileSync(join(workspace, first), "utf8")).toBe(
      `# first\n\n- status: completed\n- profile: worker\n- run: ${runId}\n- step: 1\n\n# Found\n\nfirst\nwith care is done\n`,
    );
    expect(readFileSync(join(workspace, second), "utf8")).toContain("second is done");
    const [child] = result.subDelegations ?? [];
    const { outputs } = await mandate.store.readContract(child?.delegationId ?? "");
    expect(outputs).toEqual({
      report_format: "markdown",
      report_path_pattern: ".mandate/reports/<run>/step-<idx>-result.md",
      report_index: "1",
    });
  });

  it("has the name of the child's id where the child is no step of a plan", async () => {
    await using mandate = await openEngine({ profiles, model: script });
    const { workspace } = mandate;
    const { events, runId } = await mandate.run({ task: "go", profile: "lead", workspace });
    const { first = "", second = "" } = childrenOf(events);
    const folder = join(workspace, ".mandate/reports", runId);
    expect(readdirSync(folder).sort()).toEqual(
      [`${first}-result.md`, `${second}-result.md`].sort(),
    );
    expect(readFileSync(join(workspace, reportOf(runId, second)), "utf8")).toContain(
      "second is done",
    );
    const { outputs } = await mandate.store.readContract(first);
    expect(outputs).toEqual({
      report_format: "markdown",
      report_path_pattern: ".mandate/reports/<run>/<id>-result.md",
    });
  });

  it("lies in a folder that version control is told to pass over, once", async () => {
    await using mandate = await openEngine({ profiles, model: script });
    const { workspace } = mandate;
    const ignored = join(workspace, ".mandate/reports/.gitignore");
    await mandate.run({ task: "go", profile: "lead", workspace });
    expect(readFileSync(ignored, "utf8")).toBe("*\n");
    writeFileSync(ignored, "mine\n");
    await mandate.run({ task: "go", profile: "lead", workspace });
    expect(readFileSync(ignored, "utf8")).toBe("mine\n");
    rmSync(ignored);
    await mandate.run({ task: "go", profile: "lead", workspace });
    expect(readdirSync(join(workspace, ".mandate/reports"))).toHaveLength(3);
  });

  it("lies where another pattern says", async () => {
    await using mandate = await openEngine({ profiles, model: script, limits });
    const { workspace } = mandate;
    await mandate.run({ ...planned, workspace });
    expect(readdirSync(join(workspace, "reports/new")).sort()).toEqual(["1.md", "2.md"]);
    expect(readdirSync(workspace)).toEqual(["reports"]);
    const { events } = await mandate.run({ task: "go", profile: "lead", workspace });
    const ids = Object.values(childrenOf(events)).map((id) => `${id}.md`);
    expect(readdirSync(join(workspace, "reports/new")).sort()).toEqual(
      ["1.md", "2.md", ...ids].sort(),
    );
  });

  it("keeps to the pattern that its run began with, when the run is recovered under another one", async () => {
    const state = { isStuck: true };
    const model: Script = (request) =>
      state.isStuck && request.caller.task === "second" ? { fault: "hang" } : script(request);
    await using mandate = await openEngine({ profiles, model, limits });
    const { workspace } = mandate;
    const { runId } = await mandate.start({ ...planned, workspace });
    await until("the first one has ended", async () => {
      return ofType(await mandate.events(runId), "agent.subagent_closed").length === 1;
    });
    mandate.abandon();
    state.isStuck = false;
    const other = { reportPathPattern: "other/<idx>.md" };
    await using second = await mandate.another({ profiles, model, limits: other });
    const [recovered] = await second.engine.recover();
    expect((await recovered?.result)?.status).toBe("completed");
    expect(readdirSync(workspace)).toEqual(["reports"]);
    expect(readdirSync(join(workspace, "reports/new")).sort()).toEqual(["1.md", "2.md"]);
  });

  it("is not written where the next start would read it", async () => {
    const directory = { reportPathPattern: "team/<id>.md" };
    const { agents, ...config } = defaultConfig;
    await using outer = await openEngine({ profiles, model: script });
    const { workspace } = outer;
    const delegation = { ...agents.delegation, profiles: { directory: join(workspace, "team") } };
    await using mandate = await openEngine({
      profiles,
      model: script,
      limits: directory,
      config: { ...config, agents: { delegation } },
    });
    const { result } = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(result.subDelegations?.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(readdirSync(workspace)).toEqual([]);
  });

  it.each(["../<id>.md", "/tmp/<id>.md", "reports/all.md", ".git/hooks/<id>.md", "src/<id>.ts"])(
    "refuses a program the pattern %s",
    async (reportPathPattern) => {
      const opening = openEngine({ profiles, model: script, limits: { reportPathPattern } });
      await expect(opening).rejects.toMatchObject({ code: "config-invalid" });
    },
  );

  it("is not written in a read-only run, nor without a workspace; the log has it all", async () => {
    await using mandate = await openEngine({ profiles, model: script });
    const { workspace } = mandate;
    const request = { task: "go", profile: "lead" };
    for (const more of [{ workspace, readOnly: true }, {}]) {
      const { events, result } = await mandate.run({ ...request, ...more });
      expect(result.subDelegations?.map(({ status }) => status)).toEqual([
        "completed",
        "completed",
      ]);
      const merges = ofType(events, "agent.subagent_waiting_for_merge");
      for (const { payload } of merges) expect(payload).not.toHaveProperty("output_path");
      const outputs = merges.map(({ payload }) => payload.output);
      expect(outputs).toContain("# Found\n\nsecond is done");
    }
    expect(readdirSync(workspace)).toEqual([]);
  });

  it.each(["reports", "reports/new"])(
    "is never written through a link at %s that leaves the workspace",
    async (at) => {
      const elsewhere = testFolder();
      await using mandate = await openEngine({ profiles, model: script, limits });
      const { workspace } = mandate;
      mkdirSync(dirname(join(workspace, at)), { recursive: true });
      symlinkSync(elsewhere, join(workspace, at));
      const { events, result } = await mandate.run({ ...planned, workspace });
      expect(result.subDelegations?.[0]?.status).toBe("completed");
      const merges = ofType(events, "agent.subagent_waiting_for_merge");
      for (const { payload } of merges) expect(payload).not.toHaveProperty("output_path");
      expect(readdirSync(elsewhere)).toEqual([]);
    },
  );

  it("never changes what a link points at that lies in its own place", async () => {
    const elsewhere = testFolder();
    const target = join(elsewhere, "precious.md");
    writeFileSync(target, "precious");
    await using mandate = await openEngine({ profiles, model: script, limits });
    const { workspace } = mandate;
    mkdirSync(join(workspace, "reports/new"), { recursive: true });
    symlinkSync(target, join(workspace, "reports/new/1.md"));
    const { result } = await mandate.run({ ...planned, workspace });
    expect(result.subDelegations?.[0]?.status).toBe("completed");
    expect(readFileSync(target, "utf8")).toBe("precious");
    expect(readdirSync(elsewhere)).toEqual(["precious.md"]);
  });

  it("is the same file, whenever the process dies", async () => {
    const folder = testFolder();
    const report = join(folder, "reports/new/1.md");
    const written: string[] = [];
    const looking: Script = (request) => {
      const { depth, profile, task, turn } = request.caller;
      if (depth === 0 && turn === 2) written.push(readFileSync(report, "utf8"));
      if (profile === "planner" && turn === 1)
        return { calls: [{ tool: "submit_plan", input: JSON.parse(planned.task) }] };
      // Whoever speaks again has to write again.
      if (task.startsWith("first")) rmSync(report, { force: true });
      return depth > 0 && turn === 1
        ? { calls: [{ tool: "list_files", input: {} }], latency_ms: 3 }
        : script(request);
    };
    const { points } = await crashPoints(
      {
        config: { ...defaultConfig, profiles: [], files: [] },
        profiles,
        scripted: scriptedModel(looking),
        limits,
      },
      { task: "go", profile: "planner", workspace: folder },
    );
    expect(points.flatMap(({ violations }) => violations)).toEqual([]);
    for (const { result } of points) expect(result?.status).toBe("completed");
    expect(written.length).toBeGreaterThan(2);
    expect(new Set(written).size).toBe(1);
  });
});
