import { expect, test } from "vitest";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const tools = [
  ...[
    "delegate_task",
    "spawn",
    "spawn_await",
    "list_sub_agents",
    "get_delegation_result",
    "cancel_delegation",
    "send_message",
  ],
  ...["peek_result", "search_result", "slice_result"],
];
const profiles = [
  testProfile("lead", { tools }),
  testProfile("parent", { tools }),
  testProfile("stranger", { tools }),
  testProfile("child", { tools: [] }),
];

const hand = (profile: string) => ({ tool: "delegate_task", input: { profile, task: profile } });
const spawn = { tool: "spawn", input: { profile: "child", task: "child" } };
const awaitAll: ScriptedCall = { tool: "spawn_await", input: { job_ids: "*" } };

test("what a sibling delegated is nobody else's to read, to wait for, to tell or to cancel", async () => {
  const theirs = Promise.withResolvers<string>();
  const isSeen = Promise.withResolvers<void>();
  const prying = (delegationId: string): ScriptedCall[] => [
    { tool: "peek_result", input: { delegationId } },
    { tool: "search_result", input: { delegationId, query: "secret" } },
    { tool: "slice_result", input: { delegationId, from: 1 } },
    { tool: "get_delegation_result", input: { delegationId } },
    { tool: "cancel_delegation", input: { delegationId, reason: "envy" } },
    { tool: "send_message", input: { delegationId, message: "work for me" } },
    { tool: "spawn_await", input: { job_ids: delegationId } },
    { tool: "list_sub_agents", input: {} },
  ];
  const { seen, model } = recording(async ({ caller, messages }) => {
    switch (caller.profile) {
      case "lead":
        return caller.turn === 1 ? { calls: [hand("parent"), hand("stranger")] } : "all done";
      case "parent": {
        if (caller.turn === 1) return { calls: [spawn, spawn] };
        if (caller.turn === 2) {
          const [first = ""] = messages.flatMap((one) => (one.role === "tool" ? one.text : []));
          theirs.resolve(first);
          await isSeen.promise;
          return { calls: [awaitAll] };
        }
        return "parent done";
      }
      case "stranger":
        if (caller.turn === 1) return { calls: prying(await theirs.promise) };
        isSeen.resolve();
        return "nothing to see";
      default:
        return "the secret of the parent";
    }
  });
  await using mandate = await openEngine({ profiles, model });
  const { events, result } = await mandate.run({ task: "go", profile: "lead" });
  expect(result.status).toBe("completed");
  expect(await theirs.promise).toMatch(/^[0-9a-f]{6,}$/);
  const told = seen
    .filter(({ caller }) => caller.profile === "stranger")
    .flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
  expect(told.length).toBe(prying("").length);
  expect(told.map(({ text }) => text).join("\n")).not.toContain("secret of");
  expect(told.at(-1)?.text).toBe("[]");
  expect(ofType(events, "agent.message_sent")).toEqual([]);
  const ends = ofType(events, "agent.subagent_closed").map(({ payload }) => payload.close_reason);
  expect(ends).toEqual(Array.from({ length: 5 }, () => "report_accepted"));
});
