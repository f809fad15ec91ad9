import { expect, it } from "vitest";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { openApi, refusal } from "./api.test-support.ts";

const options: EngineOptions = {
  profiles: [testProfile("worker", { tools: ["read_file", "write_file"], prompt: "You count." })],
  model({ caller, messages }) {
    if (caller.task.includes("refuse")) return { fault: "unauthorized" };
    if (caller.turn === 1 && caller.try === 1) return { fault: "overloaded" };
    const last = messages.at(-1);
    if (last?.role === "tool") return { text: `Read: ${last.text}` };
    return {
      text: "I look.",
      calls: [{ tool: "read_file", input: { path: "boats.txt" } }],
      usage: { prompt: 120, completion: 7 },
    };
  },
};

it("The requests of a delegation are listed with their failures, and each with its prompt as it was sent", async () => {
  await using api = await openApi(options);
  const { delegationId } = await api.client.startRun({
    task: "Count the boats",
    profile: "worker",
    wait: 20_000,
  });
  const { items, nextCursor } = await api.client.listModelRequests({ delegationId });
  expect(nextCursor).toBeNull();
  expect(items.map(({ outcome, request, tools }) => [request, outcome, tools])).toEqual([
    [1, "failed", []],
    [2, "answered", ["read_file"]],
    [3, "answered", []],
  ]);
  expect(items[0]?.retry?.reason).toBeTruthy();
  expect(items[1]).toMatchObject({ prompt: 120, completion: 7, messages: 1 });
  for (const { at, endedAt } of items) expect(endedAt).toBeGreaterThanOrEqual(at);

  const second = await api.client.getModelRequest({ delegationId, request: 2 });
  expect(second.system).toContain("You count.");
  expect(second.conversation.map(({ role }) => role)).toEqual(["user"]);
  expect(second.conversation[0]?.text).toContain("Count the boats");
  expect(second.text).toBe("I look.");
  expect(second.calls).toEqual([{ tool: "read_file", input: { path: "boats.txt" } }]);
  const third = await api.client.getModelRequest({ delegationId, request: 3 });
  expect(third.conversation.map(({ role, tool }) => [role, tool])).toEqual([
    ["user", null],
    ["assistant", null],
    ["tool", "read_file"],
  ]);
  expect(third.text).toBe(`Read: ${third.conversation[2]?.text}`);

  const page = await api.client.listModelRequests({ delegationId, limit: 2 });
  const rest = await api.client.listModelRequests({ delegationId, cursor: page.nextCursor ?? "" });
  expect([...page.items, ...rest.items]).toEqual(items);
});

it("A request that there is not, and a delegation of another person, are refused", async () => {
  await using api = await openApi(options);
  const { delegationId } = await api.client.startRun({
    task: "refuse it",
    profile: "worker",
    wait: 20_000,
  });
  const missing = "404 unknown-delegation";
  expect(await refusal(api.client.getModelRequest({ delegationId, request: 9 }))).toBe(missing);
  const other = await api.as("operator", "other");
  expect(await refusal(other.listModelRequests({ delegationId }))).toBe(missing);
  expect(await refusal(other.getModelRequest({ delegationId, request: 1 }))).toBe(missing);
  const { items } = await api.client.listModelRequests({ delegationId });
  expect(items).toMatchObject([{ outcome: "failed", retry: null }]);
});
