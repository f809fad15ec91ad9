import { symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "write_file"] }),
  testProfile("leaf", { tools: ["write_file"] }),
];

const script: Script = ({ caller }) => {
  if (caller.turn > 1) return "done";
  if (caller.profile === "leaf") {
    return { calls: [{ tool: "write_file", input: { path: "a.txt", content: "x" } }] };
  }
  return { calls: [{ tool: "delegate_task", input: { profile: "leaf", task: "write" } }] };
};

const namings: Readonly<Record<string, (engine: TestEngine) => string>> = {
  "as it is": ({ workspace }) => workspace,
  "with a slash at its end": ({ workspace }) => `${workspace}/`,
  "from where we are": ({ workspace }) => relative(process.cwd(), workspace),
  "through a link": ({ workspace }) => {
    const link = join(workspace, "..", "link");
    symlinkSync(workspace, link);
    return link;
  },
};

describe("a workspace", () => {
  // Whether what a child may write is within what its parent hands on is decided by the checker,
  // when the engine is disposed of.
  for (const [title, nameOf] of Object.entries(namings)) {
    it(`named ${title} is one place for parent and child`, async () => {
      await using mandate = await openEngine({ profiles, model: script });
      const { result, events } = await mandate.run({
        task: "go",
        profile: "lead",
        workspace: nameOf(mandate),
      });
      expect(result.status).toBe("completed");
      const written = events.filter(({ type }) => type === "agent.tool_completed");
      expect(written).toHaveLength(2);
    });
  }
});
