import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { TestFolder } from "../../agents/skills/skill-folders.test-support.ts";
import { loadSkills } from "../../agents/skills/skill-registry.ts";
import type { Contract } from "../../contracts/contract.ts";
import { noExposure } from "../../contracts/exposure.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { RuleSet } from "../../contracts/tool-rule.ts";
import type { NewEvent } from "../../events/event.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { exampleContract } from "../../testing/example-contract.ts";
import { type GateSubject, passGate } from "../gate.ts";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { loadSkillTool } from "./load-skill.ts";

/** Somebody with this contract whose events are written here. */
function subjectOf(contract: Contract, tool: Tool, events: NewEvent[]): GateSubject {
  return {
    caller: {
      withdrawn: false,
      id: "d000000",
      contract,
      find: (name) => (name === tool.name ? tool : undefined),
      outputBytes: 65_536,
      durable: async () => {},
      keepArtifact: () => Promise.reject(new Error("nothing here is that large")),
      untrusted: null,
      isUnattended: false,
      messages: [],
    },
    approve: async () => ({ approved: false }),
    record: (event) => events.push(event),
    contextOf: () => ({ skills: contract.permissions.skills, workspace: null }) as ToolContext,
    within: (_tool, running) => running,
    isTainted: () => false,
    deliveredBy: () => undefined,
    checkStopped: () => {},
  };
}

/** These calls of load_skill, through the gate, under a contract that grants these skills. */
async function load(
  folder: TestFolder,
  inputs: readonly object[],
  skills: Selection = ["writing"],
  more: { readonly isRepository?: boolean; readonly rules?: readonly RuleSet[] } = {},
): Promise<Found> {
  const { isRepository = false, rules = [] } = more;
  const directories = [{ path: folder.path("skills"), origin: "user", isRepository }];
  const tool = loadSkillTool(loadSkills({ directories }));
  const events: NewEvent[] = [];
  const contract = exampleContract({
    permissions: { allowed_tools: ["load_skill"], skills, rules },
  });
  for (const [index, input] of inputs.entries()) {
    const call = { id: `call-${index}`, name: "load_skill", input };
    await passGate(subjectOf(contract, tool, events), call, false);
  }
  const found = { answers: [], errors: [], denied: [], begun: 0 } as Found;
  for (const { payload, type } of events) {
    if (type === "agent.tool_completed") found.answers.push(payload.output);
    if (type === "agent.tool_failed") found.errors.push(payload.error);
    if (type === "agent.tool_denied") found.denied.push(payload);
    if (type === "agent.tool_started") found.begun += 1;
  }
  return found;
}

interface Found {
  readonly answers: string[];
  readonly errors: string[];
  readonly denied: NewEvent<"agent.tool_denied">["payload"][];
  begun: number;
}

function writingSkill(): TestFolder {
  const folder = new TestFolder();
  folder.skill("skills/writing", "description: For letters.", "Write plainly.");
  folder.write("skills/writing/references/style.md", "Short words.");
  folder.write("skills/writing/logo.png", Buffer.from([137, 80, 78, 71, 0, 1]));
  folder.write("skills/writing/scripts/run.sh", "#!/bin/sh\ntouch ran\n");
  folder.skill("skills/other", "description: Not granted.", "A secret.");
  folder.write("outside.txt", "A secret.");
  return folder;
}

describe("load_skill", () => {
  it("finds granted skills by words of their description", async () => {
    using folder = writingSkill();
    const { answers, errors } = await load(folder, [{ query: "letter" }, { query: "granted" }, {}]);
    expect(answers[0]).toContain('<skill name="writing">For letters.</skill>');
    expect(answers[1]).toBe("No skill fits. You can load: writing.");
    expect(errors).toEqual(["Error: name or query is required"]);
  });

  it("answers the instructions and names the files, or answers a file", async () => {
    using folder = writingSkill();
    const { answers, denied } = await load(folder, [
      { name: "writing" },
      { name: "skill:writing", file: "references/style.md" },
      { name: "writing", file: "./scripts/../scripts/run.sh" },
      { name: "writing", file: "logo.png" },
    ]);
    expect(denied).toEqual([]);
    expect([...answers].sort()).toEqual([
      "#!/bin/sh\ntouch ran\n",
      "Short words.",
      "Write plainly.\n\n[Files of this skill, for the parameter file: logo.png, " +
        "references/style.md, scripts/run.sh]",
      "logo.png is not text (6 bytes, binary), so its content is not shown.",
    ]);
    expect(existsSync(folder.path("skills/writing/ran"))).toBe(false);
  });

  it("is refused for a skill that the contract does not grant, whether or not it exists", async () => {
    using folder = writingSkill();
    const names = ["other", "skill:other", "OTHER", "absent", "__proto__", "*", "../other"];
    const { answers, begun, denied } = await load(
      folder,
      names.map((name) => ({ name })),
    );
    expect(answers).toEqual([]);
    expect(begun).toBe(0);
    expect(denied.map(({ rule }) => rule)).toEqual(names.map(() => "skill_not_granted"));
    expect(denied[0]?.error).toBe(
      'The contract does not grant the skill "other". It grants: writing.',
    );
  });

  it("is refused for every skill when the contract grants none", async () => {
    using folder = writingSkill();
    const { denied } = await load(
      folder,
      [{ name: "writing" }, { name: "writing", file: "x" }],
      [],
    );
    expect(denied.map(({ rule }) => rule)).toEqual(["skill_not_granted", "skill_not_granted"]);
    expect(denied[0]?.error).toMatch(/It grants: none\./);
  });

  it("says what there is when a name is wrong and everything is granted", async () => {
    using folder = writingSkill();
    folder.skill("skills/quiet", "description: x\ndisable-model-invocation: true", "quiet");
    const { denied, errors } = await load(folder, [{ name: "wrting" }, { name: "quiet" }], "*");
    expect(errors).toEqual(['There is no skill "wrting". You can load: other, writing.']);
    expect(denied.map(({ rule }) => rule)).toEqual(["skill_not_granted"]);
    expect((await load(folder, [{ name: "quiet" }], ["quiet"])).answers).toEqual(["quiet"]);
  });

  it("does not know a project's skill that is not trusted", async () => {
    using folder = writingSkill();
    const { answers, errors } = await load(folder, [{ name: "writing" }], "*", {
      isRepository: true,
    });
    expect(answers).toEqual([]);
    expect(errors).toEqual(['There is no skill "writing". You can load: none.']);
  });

  it("obeys rules about single skills, whatever way the name is written", async () => {
    using folder = writingSkill();
    const rules = [[{ tool: "load_skill", match: "writ*", action: "deny" as const }]];
    const inputs = ["writing", "skill:writing", " Writing "].map((name) => ({ name }));
    const { answers, denied } = await load(folder, [...inputs, { name: "other" }], "*", { rules });
    expect(denied.map(({ rule }) => rule)).toEqual(["tool_rule", "tool_rule", "tool_rule"]);
    expect(answers).toEqual(["A secret."]);
  });

  it("tells what is wrong with a file in words, without places on this machine", async () => {
    using folder = writingSkill();
    folder.write("skills/writing/empty.md", "");
    const { answers, errors } = await load(folder, [
      { name: "writing", file: "absent.md" },
      { name: "writing", file: "references" },
      { name: "writing", file: "SKILL.md/x" },
      { name: "writing", file: "empty.md" },
    ]);
    expect(answers).toEqual(["empty.md is empty."]);
    expect(errors).toHaveLength(3);
    expect(errors.join("\n")).not.toContain(folder.root);
    expect(errors.join("\n")).toMatch(/no file "absent.md".*\n?.*is a folder of the skill/s);
  });
});

test("no path leads out of a skill's folder", async () => {
  using folder = writingSkill();
  const place = folder.path("skills/writing");
  symlinkSync(folder.path("outside.txt"), `${place}/link.md`);
  symlinkSync(folder.path("skills/other"), `${place}/linked`);
  symlinkSync("../..", `${place}/up`);
  symlinkSync("nowhere", `${place}/dangling.md`);
  symlinkSync("loop", `${place}/loop`);
  symlinkSync("references/style.md", `${place}/inside.md`);
  mkdirSync(`${place}/devices`);
  execFileSync("mkfifo", [`${place}/devices/pipe`]);
  const files = [
    "../other/SKILL.md",
    "../../outside.txt",
    "references/../../other/SKILL.md",
    "..",
    folder.path("outside.txt"),
    `${place}/SKILL.md`,
    "/etc/passwd",
    "C:\\Windows\\win.ini",
    "\\\\host\\share",
    "link.md",
    "linked/SKILL.md",
    "up/outside.txt",
    "dangling.md",
    "loop",
    "devices/pipe",
    "a\0b",
    "\ud800",
    "x".repeat(4000),
  ];
  const { answers, denied, errors } = await load(folder, [
    ...files.map((file) => ({ name: "writing", file })),
    { name: "writing", file: "inside.md" },
  ]);
  expect(answers).toEqual(["Short words."]);
  expect(errors).toEqual([]);
  expect(denied).toHaveLength(files.length);
  expect(new Set(denied.map(({ rule }) => rule))).toEqual(
    new Set(["path_outside_skill", "path_link", "path_not_regular", "path_malformed"]),
  );
  expect(JSON.stringify(denied)).not.toContain("A secret.");
});

test("a tool sees the skills of the contract that it is called under", async () => {
  const tool = defineTool({
    name: "see_skills",
    description: "Says which skills are granted.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute: (_input, { skills }) => JSON.stringify(skills),
  });
  await using mandate = await openEngine({
    profiles: [testProfile("worker", { tools: ["see_skills"], skills: ["writing"] })],
    tools: [tool],
    model: ({ caller }) =>
      caller.turn === 1 ? { calls: [{ tool: "see_skills", input: {} }] } : { text: "done" },
  });
  const { events } = await mandate.run({
    task: "go",
    profile: "worker",
    workspace: mandate.workspace,
  });
  const [seen] = ofType(events, "agent.tool_completed");
  expect(seen?.payload.output).toBe('["writing"]');
});
