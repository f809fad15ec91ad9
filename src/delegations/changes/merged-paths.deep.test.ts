import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { defineTool } from "../../tools/tool.ts";

const boss = testProfile("boss", { capabilities: ["primary", "subtask"], tools: "*" });
const lines = "line\n".repeat(30);

/** A child that does this to its copy, past the file tools; what the person does is done meanwhile. */
async function delegateTo(
  act: (copy: string) => void,
  { meanwhile = (_folder: string): void => undefined, writeRoots = ["."] } = {},
) {
  const tamper = defineTool({
    name: "tamper",
    description: "Writes what it wants.",
    effect: "exec",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute(_input, { workspace }) {
      act(workspace?.root ?? "");
      return "done";
    },
  });
  const model: Script = ({ caller }) => {
    const delegate = { tool: "delegate_task", input: { profile: "writer", task: "write" } };
    if (caller.turn > 1) {
      if (caller.profile === "writer") meanwhile(engine.workspace);
      return "done";
    }
    return { calls: [caller.profile === "boss" ? delegate : { tool: "tamper", input: {} }] };
  };
  const writer = testProfile("writer", { tools: ["tamper"], workspace: { writeRoots } });
  await using engine = await openEngine({ model, profiles: [boss, writer], tools: [tamper] });
  initRepository(engine.workspace, { "notes.md": lines, "src/a.ts": lines });
  const { workspace } = engine;
  const { result } = await engine.run({ task: "go", profile: "boss", workspace });
  const place = (path: string) => join(workspace, path);
  const there = (path: string) =>
    existsSync(place(path)) ? readFileSync(place(path), "utf8") : null;
  return {
    outcome: result.subDelegations?.[0]?.closeReason,
    files: Object.fromEntries(
      ["agents/x.md", ".mandate/agents/notes.md", ".claude/agents/x.md", "b.ts"].map((path) => [
        path,
        there(path),
      ]),
    ),
    nested: there("sub/mandate.yaml") ?? there("sub/.mandate/agents/e.md"),
  };
}

test("a change does not follow a file that a person has made configuration of meanwhile", async () => {
  const { outcome, files } = await delegateTo(
    (copy) => writeFileSync(join(copy, "notes.md"), `${lines}evil\n`),
    {
      meanwhile(folder) {
        mkdirSync(join(folder, ".mandate/agents"), { recursive: true });
        renameSync(join(folder, "notes.md"), join(folder, ".mandate/agents/notes.md"));
      },
    },
  );
  expect(outcome).toBe("policy_denied");
  expect(files[".mandate/agents/notes.md"]).toBe(lines);
});

test("nor out of the folders that its contract lets it write", async () => {
  const { outcome, files } = await delegateTo(
    (copy) => writeFileSync(join(copy, "src/a.ts"), `${lines}evil\n`),
    {
      writeRoots: ["src"],
      meanwhile: (folder) => renameSync(join(folder, "src/a.ts"), join(folder, "b.ts")),
    },
  );
  expect(outcome).toBe("policy_denied");
  expect(files["b.ts"]).toBe(lines);
});

test("a link above a place that the next start reads is as good as a file in it", async () => {
  const { outcome, files } = await delegateTo((copy) => {
    mkdirSync(join(copy, "evil/agents"), { recursive: true });
    writeFileSync(join(copy, "evil/agents/x.md"), "---\nname: x\n---\n");
    symlinkSync("evil", join(copy, ".claude"));
  });
  expect(outcome).toBe("policy_denied");
  expect(files[".claude/agents/x.md"]).toBe(null);
});

test("what a start in a folder further down would obey is not merged either", async () => {
  const { outcome, nested } = await delegateTo((copy) => {
    mkdirSync(join(copy, "sub/.mandate/agents"), { recursive: true });
    writeFileSync(join(copy, "sub/mandate.yaml"), "x");
    writeFileSync(join(copy, "sub/.mandate/agents/e.md"), "y");
  });
  expect(outcome).toBe("policy_denied");
  expect(nested).toBe(null);
});
