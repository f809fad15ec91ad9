import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import { isSpread, notOffered } from "../../testing/alter-database.test-support.ts";
import { crashPoints } from "../../testing/crash-points.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "list_files"] }),
  testProfile("worker", { tools: ["list_files"] }),
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

const limits = { reportPathPattern: "reports/new/<idx>.md" };
const reportOf = (run: string, step: number) => `.mandate/reports/${run}/step-${step}-result.md`;

describe("the report of a child", () => {
  it("is Markdown where the contract's pattern says, by run and step, and the log has its path", async ({
    skip,
  }) => {
    skip(isSpread, notOffered.reportName);
    await using mandate = await openEngine({ profiles, model: script });
    const { workspace } = mandate;
    const { events, result, runId } = await mandate.run({ task: "go", profile: "lead", workspace });
    const paths = ofType(events, "agent.subagent_waiting_for_merge").map(
      ({ payload }) => payload.output_path,
    );
    // The root's own report goes to whoever started the run, not into the workspace.
    expect(new Set(paths)).toEqual(new Set([reportOf(runId, 1), reportOf(runId, 2), undefined]));
    expect(readFileSync(join(workspace, reportOf(runId, 1)), "utf8")).toBe(
      `# first\n\n- status: completed\n- profile: worker\n- run: ${runId}\n- step: 1\n\n# Found\n\nfirst\nwith care is done\n`,
    );
    expect(readFileSync(join(workspace, reportOf(runId, 2)), "utf8")).toContain("second is done");
    const [child] = result.subDelegations ?? [];
    const { outputs } = await mandate.store.readContract(child?.delegationId ?? "");
    expect(outputs).toEqual({
      report_format: "markdown",
      report_path_pattern: ".mandate/reports/<run>/step-<idx>-result.md",
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

  it("lies where another pattern says", async ({ skip }) => {
    skip(isSpread, notOffered.reportName);
    await using mandate = await openEngine({ profiles, model: script, limits });
    const { workspace } = mandate;
    await mandate.run({ task: "go", profile: "lead", workspace });
    expect(readdirSync(join(workspace, "reports/new")).sort()).toEqual(["1.md", "2.md"]);
    expect(readdirSync(workspace)).toEqual(["reports"]);
  });

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
      const { events, result } = await mandate.run({ task: "go", profile: "lead", workspace });
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
    const { result } = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(result.subDelegations?.[0]?.status).toBe("completed");
    expect(readFileSync(target, "utf8")).toBe("precious");
    expect(readdirSync(elsewhere)).toEqual(["precious.md"]);
  });

  it("is the same file, whenever the process dies", async () => {
    const folder = testFolder();
    const report = join(folder, "reports/new/1.md");
    const written: string[] = [];
    const looking: Script = (request) => {
      const { depth, task, turn } = request.caller;
      if (depth === 0 && turn === 2) written.push(readFileSync(report, "utf8"));
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
      { task: "go", profile: "lead", workspace: folder },
    );
    expect(points.flatMap(({ violations }) => violations)).toEqual([]);
    for (const { result } of points) expect(result?.status).toBe("completed");
    expect(written.length).toBeGreaterThan(2);
    expect(new Set(written).size).toBe(1);
  });
});
