import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";

const lead = testProfile("lead", {
  tools: ["spawn", "spawn_await", "delegate_task", "submit_plan", "grep", "read_file"],
  capabilities: ["orchestrator", "primary"],
});
const worker = testProfile("worker", { tools: ["read_file", "grep"] });
const profiles = [lead, worker];

/** A lead that makes one call; the first message and the tools of each child that comes of it. */
async function childrenOf(tool: string, input: object) {
  const { seen, model } = recording(({ caller }) => {
    if (caller.depth > 0) return "done";
    if (caller.turn === 1) return { calls: [{ tool, input }] };
    if (caller.turn === 2) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
    return "done";
  });
  await using mandate = await openEngine({ profiles, model });
  const { workspace } = mandate;
  const { events } = await mandate.run({ task: "go", profile: "lead", workspace });
  const children = seen.filter(({ caller }) => caller.depth > 0);
  return {
    denied: ofType(events, "agent.tool_denied"),
    failed: ofType(events, "agent.tool_failed").map(({ payload }) => payload.error),
    children: children.map(({ caller, messages, tools }) => ({
      profile: caller.profile,
      opening: messages[0]?.text,
      tools: tools.map(({ name }) => name),
    })),
  };
}

test.each([
  [
    "delegate_task",
    { profile: "worker", task: "look", context: "", timeout: null, maxDepth: null },
  ],
  ["spawn", { profile: "worker", task: "look", tools: "", context: "", system_prompt: null }],
  ["spawn", { profile: "worker", task: "look", tools: null, context: null, system_prompt: "" }],
])("%s takes an empty or null argument for one that is not given: %j", async (tool, input) => {
  const { children, denied } = await childrenOf(tool, input);
  expect(denied).toEqual([]);
  expect(children).toEqual([
    { profile: "worker", opening: "Task:\nlook", tools: ["read_file", "grep"] },
  ]);
});

test("a job with an empty profile is one without a profile", async () => {
  const { children } = await childrenOf("spawn", { profile: "", task: "look" });
  expect(children).toMatchObject([{ profile: "spawn", opening: "Task:\nlook" }]);
});

test("a required argument that is empty keeps its error", async () => {
  expect((await childrenOf("spawn", { task: "" })).failed).toEqual(["Error: task is required"]);
  expect((await childrenOf("spawn", { task: null })).failed).toEqual(["Error: task is required"]);
  const input = { profile: "worker", task: "" };
  expect((await childrenOf("delegate_task", input)).failed).toEqual(["Error: task is required"]);
});

test("empty arguments inside a list count as not given, too", async () => {
  const step = { title: "one", description: "look", profile: "worker" };
  const empty = { id: "", depends_on: null, owns: null, success_criteria: null, retries: null };
  const { children, denied } = await childrenOf("submit_plan", { steps: [{ ...step, ...empty }] });
  expect(denied).toEqual([]);
  expect(children.map(({ profile }) => profile)).toEqual(["worker"]);
});

test("a tool that reads files is called with its defaults", async () => {
  const { model, seen } = recording(({ caller }) =>
    caller.turn === 1
      ? { calls: [{ tool: "grep", input: { pattern: "needle", path: "", glob: null } }] }
      : "done",
  );
  await using mandate = await openEngine({ profiles, model });
  writeFileSync(join(mandate.workspace, "a.txt"), "a needle\n");
  await mandate.run({ task: "go", profile: "worker", workspace: mandate.workspace });
  expect(seen[1]?.messages.at(-1)).toMatchObject({ isError: false });
  expect(seen[1]?.messages.at(-1)?.text).toContain("a.txt");
});
