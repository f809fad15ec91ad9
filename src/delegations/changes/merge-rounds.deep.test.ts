import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { git, initRepository } from "../../testing/git-workspace.test-support.ts";

const rounds = cases(200, 3);

const profiles = [
  testProfile("boss", { capabilities: ["primary", "subtask"], tools: "*" }),
  testProfile("writer", { tools: ["write_file"] }),
];

/** Two children change different files; which of them is quicker is another throw every time. */
const model: Script = ({ caller }) => {
  if (caller.profile === "boss") {
    if (caller.turn > 1) return "done";
    const call = (task: string) => ({ tool: "delegate_task", input: { profile: "writer", task } });
    return { calls: [call("left"), call("right")] };
  }
  if (caller.turn > 1) return { latency_ms: Math.random() * 20, text: "done" };
  const input = { path: `${caller.task}.txt`, content: `${caller.task} was here\n` };
  return { latency_ms: Math.random() * 20, calls: [{ tool: "write_file", input }] };
};

test(`two children side by side give the same files in the same order, ${rounds} times`, {
  timeout: 60_000 + rounds * 3000,
}, async () => {
  const trees = new Set<string>();
  const orders = new Set<string>();
  await using engine = await openEngine({ model, profiles });
  initRepository(engine.workspace, { "left.txt": "left\n", "right.txt": "right\n" });
  for (let round = 0; round < rounds; round++) {
    git(engine.workspace, "checkout", "--quiet", "--", ".");
    const { events, result } = await engine.run({
      task: "go",
      profile: "boss",
      workspace: engine.workspace,
    });
    expect(result.status).toBe("completed");
    const texts = ["left.txt", "right.txt"].map((path) =>
      readFileSync(join(engine.workspace, path), "utf8"),
    );
    trees.add(createHash("sha256").update(texts.join()).digest("hex"));
    const steps = new Map(
      ofType(events, "agent.subagent_created").map((event) => [
        event.sub_agent_id,
        event.payload.step_idx,
      ]),
    );
    const merged = ofType(events, "agent.worktree_merged");
    orders.add(merged.map((event) => steps.get(event.sub_agent_id)).join());
  }
  expect([...orders]).toEqual(["1,2"]);
  expect(trees.size).toBe(1);
});
