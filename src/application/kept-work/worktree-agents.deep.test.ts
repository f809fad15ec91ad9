import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { requestOf } from "../../tools/workflow/workflow-run.test-support.ts";
import { findWork } from "./find-work.ts";

test("what agents write is merged in the order of calls, and a worktree is kept for the person", async () => {
  await using mandate = await openEngine({
    profiles: [testProfile("general", { tools: ["write_file"] })],
    model({ caller }) {
      const [path = "", content = ""] = caller.task.split(" ");
      if (caller.turn > 1) return `wrote ${path}`;
      const calls = [{ tool: "write_file", input: { path, content } }];
      return { calls, latency_ms: content === "slow" ? 60 : 1 };
    },
  });
  initRepository(mandate.workspace, { "README.md": "x" });
  const script = `return parallel([() => agent("a.txt slow"), () => agent("b.txt quick"), () => agent("c.txt kept", { isolation: "worktree" })])`;
  const { events, result } = await mandate.run(await requestOf(mandate, script));
  expect(JSON.parse(result.result)).toEqual(["wrote a.txt", "wrote b.txt", "wrote c.txt"]);
  expect(readFileSync(join(mandate.workspace, "a.txt"), "utf8")).toBe("slow");
  expect(readFileSync(join(mandate.workspace, "b.txt"), "utf8")).toBe("quick");
  expect(existsSync(join(mandate.workspace, "c.txt"))).toBe(false);
  const merges = ofType(events, "agent.worktree_merged");
  expect(merges.filter(({ payload }) => payload.files !== undefined)).toHaveLength(2);
  const kept = merges.find(({ payload }) => payload.strategy === "kept");
  const { copy } = await findWork(mandate, kept?.sub_agent_id ?? "", () => true);
  expect(readFileSync(join(copy?.root ?? "", "c.txt"), "utf8")).toBe("kept");
});
