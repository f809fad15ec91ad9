import { expect, test } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { watched } from "./watched.test-support.ts";

const profiles = [
  testProfile("boss", { capabilities: ["primary", "subtask"], tools: ["list_files"] }),
  testProfile("pair", {
    capabilities: ["watcher"],
    tools: ["interject", "read_file", "write_file", "shell", "delegate_task"],
  }),
];
const limits = { watchIntervalMs: 1 };

/** The boss works in three turns. */
function play(remark: (text: string) => unknown): Script {
  return ({ caller, messages }) => {
    if (caller.profile === "pair") {
      const last = messages.at(-1);
      if (last?.role === "tool") return "ok";
      const input = remark(last?.text ?? "");
      return input ? { calls: [{ tool: "interject", input }] } : "ok";
    }
    return caller.turn < 4 ? { calls: [{ tool: "list_files", input: {} }] } : "done";
  };
}

test.each(["info", "warn"] as const)(
  "what a watcher says as %s reaches the right place",
  async (severity) => {
    let said = false;
    const script = play(() => {
      if (said) return undefined;
      said = true;
      return { severity, message: "You forgot the tests." };
    });
    const { seen, model } = recording(watched(script));
    await using engine = await openEngine({ model, profiles, limits });
    const { events, result } = await engine.run({
      task: "work",
      profile: "boss",
      workspace: engine.workspace,
      watchers: ["pair"],
    });
    expect(result.status).toBe("completed");
    const [remark] = ofType(events, "agent.interjected").filter(({ payload }) =>
      payload.from.startsWith("watcher:"),
    );
    expect(remark).toMatchObject({ payload: { severity, message: "You forgot the tests." } });
    const shown = seen
      .filter(({ caller }) => caller.profile === "boss")
      .some(({ messages }) => messages.some(({ text }) => text.includes("You forgot the tests.")));
    expect(shown).toBe(severity === "warn");
    const watcher = remark?.payload.from.slice("watcher:".length);
    const [closed] = ofType(events, "agent.subagent_closed", watcher);
    expect(closed?.payload).toMatchObject({ final_status: "completed" });
    const asked = seen.filter(({ caller }) => caller.profile === "pair");
    expect(
      asked
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join("\n"),
    ).toContain("calls list_files");
    expect(asked[0]?.tools.map(({ name }) => name).sort()).toEqual(["interject", "read_file"]);
  },
);

test("a critical remark stops the next call before it begins, and is read first", async () => {
  let said = false;
  const script = play((text) => {
    // While the first call runs there is nothing to stop: it is read before the next turn anyway.
    if (said || !text.includes("list_files gave")) return undefined;
    said = true;
    return { severity: "critical", message: "Do not go on." };
  });
  const remarked = Promise.withResolvers<void>();
  const { seen, model } = recording(async (request) => {
    const { profile, turn } = request.caller;
    if (profile === "boss" && turn > 1) await remarked.promise;
    return script(request);
  });
  await using engine = await openEngine({ model, profiles, limits });
  engine.store.subscribe((stored) => {
    const isRemark = stored.some(
      (event) => event.type === "agent.interjected" && event.payload.from.startsWith("watcher:"),
    );
    if (isRemark) remarked.resolve();
  });
  const { events } = await engine.run({
    task: "work",
    profile: "boss",
    workspace: engine.workspace,
    watchers: ["pair"],
  });
  const [denied] = ofType(events, "agent.tool_denied");
  expect(denied?.payload).toMatchObject({ tool: "list_files", rule: "interjected" });
  const last = seen.filter(({ caller }) => caller.profile === "boss").at(-1);
  expect(last?.messages.map(({ text }) => text).join("\n")).toContain("Do not go on.");
});

test("a watcher that fails dies alone", async () => {
  const isDead = Promise.withResolvers<void>();
  const script: Script = async (request) => {
    if (request.caller.profile === "pair") return { fault: "bad-request" } as never;
    if (request.caller.turn > 1) await isDead.promise;
    return play(() => undefined)(request);
  };
  await using engine = await openEngine({ model: script, profiles, limits });
  engine.store.subscribe((events) => {
    if (ofType(events, "agent.subagent_closed").length > 0) isDead.resolve();
  });
  const { events, result } = await engine.run({
    task: "work",
    profile: "boss",
    workspace: engine.workspace,
    watchers: ["pair"],
  });
  expect(result.status).toBe("completed");
  expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
});

test("one that talks in circles is stopped, and the one it watches goes on", async () => {
  const script = play(() => ({ severity: "warn", message: "Same again." }));
  const turns = new Map<string, number>();
  const model: Script = async (request) => {
    const { delegationId, profile, turn } = request.caller;
    if (profile === "pair") turns.set(delegationId, turn);
    // Both have spoken by the second turn, and tried it again by the third.
    const wanted = Math.min(turn - 1, 2) * 2;
    if (profile === "boss" && turn > 1) {
      await until(
        "both watchers are asked",
        () => turns.size === 2 && [...turns.values()].every((each) => each >= wanted),
      );
    }
    return script(request);
  };
  await using engine = await openEngine({ model, profiles, limits });
  const { events, result } = await engine.run({
    task: "work",
    profile: "boss",
    workspace: engine.workspace,
    watchers: ["pair", "pair"],
  });
  expect(result.status).toBe("completed");
  const remarks = ofType(events, "agent.interjected").filter(({ payload }) =>
    payload.from.startsWith("watcher:"),
  );
  expect(remarks.length).toBe(2);
});

test("nobody but a watcher may interject", async () => {
  const boss = testProfile("boss", { capabilities: ["primary"], tools: ["interject"] });
  const { seen, model } = recording(({ caller }) =>
    caller.turn === 1
      ? { calls: [{ tool: "interject", input: { severity: "warn", message: "x" } }] }
      : "done",
  );
  await using engine = await openEngine({ model, profiles: [boss], limits });
  const { events } = await engine.run({ task: "work", profile: "boss" });
  expect(seen[0]?.tools).toEqual([]);
  expect(ofType(events, "agent.tool_denied")[0]?.payload.tool).toBe("interject");
});

test("a watcher that is taken up after a crash is not shown again what it has seen", async () => {
  let isRecovered = false;
  const { seen, model } = recording(async ({ caller }) => {
    if (caller.profile === "pair") return "ok";
    if (caller.turn === 1) return { calls: [{ tool: "list_files", input: {} }] };
    if (!isRecovered) await new Promise(() => undefined);
    return caller.turn === 2 ? { calls: [{ tool: "list_files", input: { path: "." } }] } : "done";
  });
  await using engine = await openEngine({ model, profiles, limits });
  const { runId } = await engine.start({
    task: "work",
    profile: "boss",
    workspace: engine.workspace,
    watchers: ["pair"],
  });
  const shown = async () =>
    ofType(await engine.events(runId), "agent.interjected").filter(
      ({ payload }) => payload.from === "session" && payload.message.includes("list_files gave"),
    );
  const [batch] = await until("it is shown the call", async () => {
    const batches = await shown();
    return batches.length > 0 && batches;
  });
  await until("it has answered", async () =>
    ofType(await engine.events(runId), "agent.model_turn", batch?.sub_agent_id).some(
      ({ run_seq: seq }) => seq > (batch?.run_seq ?? 0),
    ),
  );
  engine.abandon();
  isRecovered = true;
  await using second = await engine.another({ model, profiles, limits });
  const [recovered] = await second.engine.recover();
  expect((await recovered?.result)?.status).toBe("completed");
  const events = await second.events(runId);
  expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
  const batches = ofType(events, "agent.interjected").filter(
    ({ payload }) => payload.from === "session",
  );
  const upTo = batches.map(({ payload }) => payload.up_to ?? 0);
  expect(upTo).toEqual([...new Set(upTo)].sort((one, other) => one - other));
  const told = batches.map(({ payload }) => payload.message).join("\n");
  expect(told.match(/calls list_files \{\}/g)).toHaveLength(1);
  expect(seen.some(({ caller }) => caller.profile === "pair")).toBe(true);
});
