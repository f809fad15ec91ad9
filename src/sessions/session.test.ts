import { describe, expect, it } from "vitest";
import type { PlannedStep, StoredEvent } from "../events/event.ts";
import { stored } from "../events/example-events.test-support.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../testing/engine-fixture.ts";
import { exampleContract } from "../testing/example-contract.ts";
import { collect } from "../testing/stored-run.ts";
import { listSessions } from "./list-sessions.ts";
import { readSession } from "./read-session.ts";
import { triggerOf } from "./session.ts";
import { Transcript } from "./transcript.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "list_files"], capabilities: ["primary"] }),
  testProfile("helper", { tools: ["list_files"] }),
];

const secrets = ["thinking aloud about badgers", "a draft about otters"];
const result = `42 sheep. ${"And so on. ".repeat(40)}`;

/** The helper says much on its way, and one thing at the end. */
const delegating: Script = ({ caller, messages }) => {
  if (caller.profile === "helper") {
    if (caller.turn > secrets.length) return result;
    return { text: secrets[caller.turn - 1] ?? "", calls: [{ tool: "list_files", input: {} }] };
  }
  if (messages.at(-1)?.role === "tool") return "Counted.";
  const input = { profile: "helper", task: "count the sheep" };
  return { text: "I will ask.", calls: [{ tool: "delegate_task", input }] };
};

describe("the session of a parent", () => {
  it("keeps a breadcrumb of its child, and of the child's words only the result", async () => {
    await using mandate = await openEngine({ profiles, model: delegating });
    const { store, workspace } = mandate;
    const { delegationId, events } = await mandate.run({ task: "go", profile: "lead", workspace });
    const child = ofType(events, "agent.subagent_created")[1]?.sub_agent_id ?? "";
    const session = await readSession(store, delegationId);
    expect(session.breadcrumbs).toEqual([
      {
        delegationId: child,
        profile: "helper",
        capability: "subtask",
        status: "completed",
        closeReason: "report_accepted",
        summary: expect.stringMatching(/^42 sheep\. And so on\./),
        at: expect.any(Number),
        link: `sessions/${child}`,
      },
    ]);
    expect(session.breadcrumbs[0]?.summary.length).toBe(240);
    expect(session.entries.map(({ kind }) => kind)).toEqual([
      ...["person", "agent", "child", "agent", "note"].flatMap((kind) =>
        kind === "child" ? ["call", "child"] : [kind],
      ),
    ]);
    const transcript = new Transcript("Task:\ngo");
    for (const event of events.filter((each) => each.sub_agent_id === delegationId)) {
      transcript.apply(event);
    }
    const ofParent = [JSON.stringify(session), JSON.stringify(transcript.messages)];
    const ofChild = JSON.stringify(await readSession(store, child));
    for (const secret of secrets) {
      expect(ofChild).toContain(secret);
      for (const text of ofParent) expect(text).not.toContain(secret);
    }
    expect(transcript.messages.filter(({ text }) => text.includes("42 sheep"))).toHaveLength(1);
  });

  it("names the failure of a child that failed, on one line without control characters", async () => {
    await using mandate = await openEngine({
      profiles: [
        profiles[0] ?? testProfile("lead"),
        testProfile("helper", { limits: { turns: 1 } }),
      ],
      model: (request) =>
        request.caller.profile === "helper" ? { fault: "empty" } : delegating(request),
    });
    const { delegationId } = await mandate.run({ task: "go", profile: "lead" });
    const [breadcrumb] = (await readSession(mandate.store, delegationId)).breadcrumbs;
    expect(breadcrumb).toMatchObject({ status: "failed", closeReason: expect.any(String) });
    expect(breadcrumb?.summary).toMatch(/^\P{Cc}+$/u);
  });
});

it("keeps a breadcrumb of who watched it", async () => {
  const watcher = testProfile("pair", { capabilities: ["watcher"], tools: [] });
  await using mandate = await openEngine({ profiles: [...profiles, watcher], model: () => "ok" });
  const { delegationId } = await mandate.run({ task: "go", profile: "lead", watchers: ["pair"] });
  const { breadcrumbs, context } = await readSession(mandate.store, delegationId);
  expect(breadcrumbs).toMatchObject([{ profile: "pair", capability: "watcher" }]);
  expect(context?.childIds).toEqual([]);
  const [crumb] = breadcrumbs;
  expect((await readSession(mandate.store, crumb?.delegationId ?? "")).context).toMatchObject({
    trigger: { by: "watcher", watches: delegationId },
  });
});

describe("the context of a session", () => {
  it("says who, where, what it may do, how it came to be, and when", async () => {
    await using mandate = await openEngine({ profiles, model: delegating });
    const { store, workspace } = mandate;
    const { delegationId, events, runId } = await mandate.run({
      ...{ task: "go", profile: "lead", workspace, readOnly: true },
    });
    const created = ofType(events, "agent.subagent_created");
    const child = created[1]?.sub_agent_id ?? "";
    expect((await readSession(store, runId)).context).toEqual({
      sessionId: delegationId,
      runId,
      agentId: "lead",
      profile: "lead",
      capability: "primary",
      title: "go",
      workspace: { root: workspace, isolation: "shared", allowWrites: false },
      permissions: {
        tools: ["delegate_task", "list_files"],
        skills: expect.anything(),
        servers: expect.anything(),
        network: expect.anything(),
      },
      trigger: { by: "person" },
      parentId: null,
      childIds: [child],
      status: "completed",
      closeReason: "report_accepted",
      createdAt: created[0]?.at,
      startedAt: ofType(events, "agent.subagent_started", delegationId)[0]?.at,
      lastActivityAt: ofType(events, "agent.subagent_closed", delegationId)[0]?.at,
      finishedAt: ofType(events, "agent.subagent_closed", delegationId)[0]?.at,
      runIds: [runId],
    });
    const callId = created[1]?.payload.call_id;
    expect((await readSession(store, child)).context).toMatchObject({
      agentId: "helper",
      capability: "subtask",
      parentId: delegationId,
      trigger: { by: "tool", tool: "delegate_task", callId },
    });
  });

  it("goes on over several runs, and names all of them", async () => {
    await using mandate = await openEngine({ profiles, model: () => "done" });
    const first = await mandate.run({ task: "go", profile: "lead", context: "by night" });
    const second = await mandate.engine.continueSession(first.runId, "more");
    await second.result;
    const { context, entries, title } = await readSession(mandate.store, second.delegationId);
    expect(title).toBe("go");
    expect(context?.runIds).toEqual([first.runId, second.runId]);
    expect(entries.map((entry) => ("text" in entry ? entry.text : entry.kind))).toEqual([
      ...["go", "Context: by night", "done", "It ended: completed (report accepted)."],
      ...["more", "done", "It ended: completed (report accepted)."],
    ]);
  });

  it("that parted in the middle has what was said until there, and both are listed", async () => {
    await using mandate = await openEngine({ profiles, model: delegating });
    const { engine, store, workspace } = mandate;
    const first = await mandate.run({ task: "go", profile: "lead", workspace });
    const [turn] = ofType(first.events, "agent.model_turn", first.delegationId);
    const parted = await engine.startRun({
      ...{ task: "another way", profile: "lead", workspace },
      ...{ resumedFrom: first.delegationId, resumedAt: turn?.seq },
    });
    await parted.result;
    const { entries } = await readSession(store, parted.runId);
    expect(entries.slice(0, 4)).toMatchObject([
      { kind: "person", text: "go" },
      { kind: "agent", text: "I will ask." },
      { kind: "call", outcome: "open" },
      { kind: "person", text: "another way" },
    ]);
    const listed = (await listSessions(store)).map(({ id }) => id);
    expect(listed).toEqual([parted.delegationId, first.delegationId]);
  });

  it("counts what is under way as what it is", async () => {
    await using mandate = await openEngine({ profiles, model: () => ({ fault: "hang" }) });
    const { result, runId } = await mandate.start({ task: "go", profile: "lead" });
    await collect(mandate.store, { runId });
    const { context } = await readSession(mandate.store, runId);
    expect(context).toMatchObject({ closeReason: null, finishedAt: null });
    expect(["created", "running"]).toContain(context?.status);
    await mandate.engine.cancel(runId, "enough");
    await result;
    expect((await readSession(mandate.store, runId)).context).toMatchObject({
      ...{ status: "cancelled", closeReason: "cancelled" },
    });
  });
});

describe("how a session came to be", () => {
  const step = (key: string): PlannedStep => ({
    ...{ key, title: key, profile: "p", depends_on: [], owns: [] },
  });
  const events: StoredEvent[] = [
    stored("run.planned", { call_id: "plan", steps: [step("build")] }),
    stored(
      "agent.model_turn",
      { calls: [{ id: "plan", name: "submit_plan", input: {} }] },
      { id: "a" },
    ),
    stored("agent.model_turn", { calls: [{ id: "many", name: "spawn", input: {} }] }, { id: "a" }),
    stored("agent.model_turn", { calls: [{ id: "one", name: "other", input: {} }] }, { id: "b" }),
  ];
  const by = (callId: string | null, contract = exampleContract()) =>
    triggerOf({ callId, parentId: callId === null ? null : "a" }, contract, events);

  it("is a person, a call, a step of a plan, a slash word, a watch or another program", () => {
    expect(by(null)).toEqual({ by: "person" });
    expect(by("many")).toEqual({ by: "tool", tool: "spawn", callId: "many" });
    expect(by("many/2")).toEqual({ by: "tool", tool: "spawn", callId: "many/2" });
    expect(by("plan/build")).toEqual({ by: "step", step: "build", callId: "plan/build" });
    expect(by("/oracle#2")).toEqual({ by: "slash", word: "/oracle" });
    expect(by(null, exampleContract({ parent: { watches: "a" } }))).toEqual({
      ...{ by: "watcher", watches: "a" },
    });
    const external = exampleContract({ model: { provider: "external" } });
    expect(by(null, external)).toEqual({ by: "program", name: "test" });
  });

  it("is never another agent's call of the same id", () => {
    expect(by("one")).toEqual({ by: "tool", tool: "", callId: "one" });
  });
});
