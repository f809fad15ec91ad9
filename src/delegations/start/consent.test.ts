import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ConsentMode } from "../../control/folders/decide-consent.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";

const operator = { id: "local", role: "operator" } as const;

const profiles = [
  testProfile("lead", { capabilities: ["primary"], tools: ["delegate_task", "write_file"] }),
  testProfile("writer", { tools: ["write_file"] }),
  testProfile("reader", { tools: ["list_files"] }),
  testProfile("in-place", { tools: ["write_file"], workspace: { isolation: "shared" } }),
  testProfile("part", { tools: ["write_file"], workspace: { isolation: "custom", folder: "sub" } }),
];

const model: Script = ({ caller, messages }) => {
  if (messages.length > 1 || caller.profile === "reader") return "done";
  const child = /^ask (\S+)$/.exec(caller.task)?.[1];
  if (child !== undefined) {
    return { calls: [{ tool: "delegate_task", input: { profile: child, task: "write" } }] };
  }
  return { calls: [{ tool: "write_file", input: { path: "note.txt", content: "hello" } }] };
};

/** Nobody answers: an approval that is asked for is refused in no time. */
const options: EngineOptions = {
  ...{ consent: "given", profiles, model },
  limits: { askDeadlineMs: 1 },
};

async function openWith(mode: ConsentMode, more: EngineOptions = {}): Promise<TestEngine> {
  const engine = await openEngine({ ...options, ...more });
  await consent(engine, mode);
  return engine;
}

async function consent({ folders, workspace }: TestEngine, answer: ConsentMode): Promise<void> {
  const decision = await folders.decide(workspace, operator.id, { answer });
  if (decision.kind !== "allowed") throw new Error(decision.kind);
  await folders.accept(workspace, decision, operator);
}

const isWritten = ({ workspace }: TestEngine): boolean => existsSync(join(workspace, "note.txt"));

function approveAll({ engine, store }: TestEngine): void {
  store.subscribe((events) => {
    for (const event of ofType(events, "agent.asked")) {
      void engine.answer(event.payload.ask_id, "yes");
    }
  });
}

describe("a run in a folder", () => {
  test("without consent does not begin, whoever asks the engine for it", async () => {
    await using engine = await openEngine(options);
    const { workspace } = engine;
    const refused = { code: "refused-by-policy" };
    const request = { task: "write", profile: "writer", workspace };
    await expect(engine.start(request)).rejects.toMatchObject(refused);
    await expect(engine.start({ ...request, isGoal: true })).rejects.toMatchObject(refused);
    await expect(engine.engine.openSession({ client: "x", workspace })).rejects.toMatchObject(
      refused,
    );
    expect(await engine.store.listRuns({})).toEqual([]);
    // Without a folder there is nothing to consent to.
    expect((await engine.run({ task: "look", profile: "reader" })).result.status).toBe("completed");
  });

  test("is for the user who consented", async () => {
    await using engine = await openWith("in-place");
    const by = { id: "eve", role: "operator" };
    const request = { task: "write", profile: "writer", workspace: engine.workspace, by };
    await expect(engine.start(request)).rejects.toMatchObject({ code: "refused-by-policy" });
  });

  test("in place is changed at once", async () => {
    await using engine = await openWith("in-place");
    await engine.run({ task: "write", profile: "writer", workspace: engine.workspace });
    expect(isWritten(engine)).toBe(true);
  });

  test.each(["writer", "in-place"])(
    "in a copy waits for a person before %s changes it",
    async (profile) => {
      await using engine = await openWith("copy");
      const { workspace } = engine;
      const { events, result } = await engine.run({ task: "write", profile, workspace });
      expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
      expect(ofType(events, "agent.asked")).toHaveLength(1);
      expect(isWritten(engine)).toBe(false);
    },
  );

  test("in a copy takes the changes over when the person approves them", async () => {
    await using engine = await openWith("copy", { limits: { askDeadlineMs: 60_000 } });
    const { workspace } = engine;
    approveAll(engine);
    const { result } = await engine.run({ task: "ask writer", profile: "lead", workspace });
    expect(result.status).toBe("completed");
    expect(readFileSync(join(workspace, "note.txt"), "utf8")).toBe("hello");
  });

  test("in a copy has children merge into the copy, and asks once for all of it", async () => {
    await using engine = await openWith("copy");
    const { workspace } = engine;
    const { events } = await engine.run({ task: "ask writer", profile: "lead", workspace });
    expect(ofType(events, "agent.asked")).toHaveLength(1);
    expect(ofType(events, "agent.worktree_merged").map(({ payload }) => payload.strategy)).toEqual([
      expect.stringMatching(/^(?!refused)/),
      "refused",
    ]);
    expect(isWritten(engine)).toBe(false);
  });

  test("in a copy needs none for an agent that cannot write", async () => {
    await using engine = await openWith("copy");
    const { workspace } = engine;
    const { delegationId, result } = await engine.run({
      task: "look",
      profile: "reader",
      workspace,
    });
    expect(result.status).toBe("completed");
    expect((await engine.store.readContract(delegationId)).workspace.isolation).toBe("shared");
  });

  test("in a copy refuses an agent that works in place in a part of it", async () => {
    await using engine = await openWith("copy");
    const { workspace } = engine;
    mkdirSync(join(workspace, "sub"));
    const request = { task: "write", profile: "part", workspace };
    await expect(engine.start(request)).rejects.toMatchObject({ code: "refused-by-policy" });
  });

  test("read-only is changed by nobody, at any depth", async () => {
    await using engine = await openWith("read-only");
    const { workspace } = engine;
    await engine.run({ task: "write", profile: "writer", workspace });
    await engine.run({ task: "ask in-place", profile: "lead", workspace });
    expect(isWritten(engine)).toBe(false);
  });
});

describe("an agent of another program", () => {
  const written = { path: "note.txt", content: "hello" };

  test.each(["writer", "in-place"])(
    "has %s work in a copy that a person approves",
    async (profile) => {
      await using engine = await openWith("copy");
      const { workspace } = engine;
      const session = await engine.engine.openSession({ client: "x", workspace });
      await session.call("delegate_task", { task: "write", profile });
      // Its own hands are bound as well.
      expect(await session.call("write_file", written)).toMatchObject({ isError: true });
      await session.close();
      const events = await engine.events(session.runId);
      expect(ofType(events, "agent.asked")).toHaveLength(1);
      expect(ofType(events, "agent.subagent_failed")).toMatchObject([
        { payload: { code: "policy_denied" } },
      ]);
      expect(isWritten(engine)).toBe(false);
    },
  );

  test("has a child's changes taken over when the person approves them", async () => {
    await using engine = await openWith("copy", { limits: { askDeadlineMs: 60_000 } });
    const { workspace } = engine;
    approveAll(engine);
    const session = await engine.engine.openSession({ client: "x", workspace });
    await session.call("delegate_task", { task: "write", profile: "writer" });
    await session.close();
    expect(isWritten(engine)).toBe(true);
  });

  test("changes nothing in a folder that is read-only", async () => {
    await using engine = await openWith("read-only");
    const { workspace } = engine;
    const session = await engine.engine.openSession({ client: "x", workspace });
    await session.call("delegate_task", { task: "write", profile: "writer" });
    await session.call("write_file", written);
    await session.close();
    expect(isWritten(engine)).toBe(false);
  });
});

describe("a run that is continued", () => {
  test("is held to the consent of today", async () => {
    await using engine = await openWith("in-place");
    const { store, workspace } = engine;
    const first = await engine.run({ task: "look", profile: "writer", workspace, maxTokens: 100 });
    expect(first.result.status).toBe("failed");
    await consent(engine, "read-only");
    const again = await engine.engine.resume(first.runId, undefined, { maxTokens: 50_000 });
    await again.result;
    expect((await store.readContract(again.delegationId)).permissions.write_roots).toEqual([]);
    await consent(engine, "copy");
    const third = await engine.engine.resume(first.runId, undefined, { maxTokens: 50_000 });
    await third.result;
    expect((await store.readContract(third.delegationId)).workspace).toMatchObject({
      isolation: "sandbox",
      approval: true,
    });
    await engine.control.plane.withdrawConsent(workspace, operator);
    const refused = { code: "refused-by-policy" };
    await expect(engine.engine.resume(first.runId)).rejects.toMatchObject(refused);
    await expect(engine.engine.continueSession(third.runId, "on")).rejects.toMatchObject(refused);
    expect(isWritten(engine)).toBe(false);
  });
});

test("in a folder that is reviewed, reports go to their own folder, whatever pattern is set", async () => {
  const limits = { askDeadlineMs: 1, reportPathPattern: "docs/<id>.md" };
  await using reviewed = await openWith("copy", { limits });
  const { workspace } = reviewed;
  const request = { task: "ask writer", profile: "lead", workspace };
  await reviewed.run(request);
  expect(existsSync(join(workspace, ".mandate/reports"))).toBe(true);
  expect(existsSync(join(workspace, "docs"))).toBe(false);
  await consent(reviewed, "in-place");
  await reviewed.run(request);
  expect(existsSync(join(workspace, "docs"))).toBe(true);
});
