import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { knownAgents } from "../../contracts/agent-runner.ts";
import type { Profile } from "./profile.ts";
import { parseMarkdownProfile } from "./profile-document.ts";
import { mergeLayers } from "./profile-layer.ts";
import { shippedProfiles } from "./read-profile-file.ts";

const names = [
  ...["analyst", "builder", "coder", "general", "oracle", "orchestrator", "pair", "planner"],
  ...["researcher", "reviewer", "summarizer", "writer"],
];

/** Runs what is written down; no language model ever reads its prompt. */
const runners = {
  "plan-runner": ["mandate/plan", "submit_plan"],
  "workflow-runner": ["mandate/workflow", "perform_workflow"],
} as const;

/** Every tool there is or is to be, by its canonical name. */
const knownTools: ReadonlySet<string> = new Set([
  ...["spawn", "spawn_await", "delegate_task", "delegate_to_agent", "spawn_subagent"],
  ...[
    "request_review",
    "list_profiles",
    "list_sub_agents",
    "get_delegation_result",
    "cancel_delegation",
  ],
  ...["send_message", "peek_result", "search_result", "slice_result"],
  ...["complete_task", "submit_for_review", "ask_user", "interject", "submit_plan"],
  ...["run_workflow", "perform_workflow"],
  ...["read_file", "write_file", "edit_file", "list_files", "glob", "grep", "shell"],
  ...["web_fetch", "web_search", "document_query", "memory_load", "memory_save", "search"],
  "load_skill",
]);

const delegating = ["spawn", "spawn_subagent", "delegate_task", "delegate_to_agent"];
const changing = ["write_file", "edit_file", "shell", ...delegating];

function shipped(name: string): Profile {
  const file = join(shippedProfiles.path, `${name}.md`);
  const { fields, name: said } = parseMarkdownProfile(readFileSync(file), file);
  return mergeLayers([{ name: said ?? "", fields, origin: file }]);
}

function toolsOf({ tools }: Profile): readonly string[] {
  if (tools === undefined || tools === "*") throw new Error("it names no tools");
  return tools;
}

test("the folder holds these profiles and nothing else", () => {
  const all = [...names, ...Object.keys(runners), ...knownAgents].sort();
  expect(readdirSync(shippedProfiles.path).sort()).toEqual(all.map((name) => `${name}.md`));
});

describe.each(knownAgents)("the shipped profile of the agent program %s", (name) => {
  const profile = shipped(name);

  it("is called like its program, and is started only by its name", () => {
    expect(profile).toMatchObject({ name, runner: { agent: name }, hidden: true });
  });

  it("may do nothing that a caller could not hand on", () => {
    for (const tool of toolsOf(profile)) expect(knownTools).toContain(tool);
    expect(profile.network).toBeUndefined();
    expect(profile.bootstrapFiles).toEqual([]);
  });
});

describe.each(names)("the shipped profile %s", (name) => {
  const profile = shipped(name);

  it("is called like its file and says in one line when to choose it", () => {
    expect(profile.name).toBe(name);
    expect(profile.description).toMatch(/^[A-Z][^\n]{60,298}\.$/);
  });

  it("has a prompt of a page or two, with headings, that says what to hand back", () => {
    const lines = profile.prompt.split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(40);
    expect(lines.length).toBeLessThanOrEqual(120);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(lines.filter((line) => line.startsWith("## ")).length).toBeGreaterThanOrEqual(3);
    expect(lines[0]).toMatch(/^# [A-Z]/);
    expect(profile.prompt).toMatch(/## (?:Your (?:report|answer)|What to hand in)|Hand back/);
    expect(profile.prompt).toMatch(/never|do not/i);
    expect(profile.prompt).not.toMatch(/world-class|you are an? (?:expert|senior)|AI assistant/i);
  });

  it("names tools that exist, each once", () => {
    const { exit, mayDelegate, tools } = profile;
    for (const list of [tools, mayDelegate?.tools, exit?.tools]) {
      if (list === undefined || list === "*") continue;
      expect([...list].filter((tool) => !knownTools.has(tool))).toEqual([]);
      expect(new Set(list).size).toBe(list.length);
    }
  });

  it("speaks of no tool that it does not have", () => {
    if (profile.tools === "*") return;
    const spoken = [...profile.prompt.matchAll(/`([a-z]+_[a-z_]+)`/g)].map(
      ([, tool]) => tool ?? "",
    );
    const tools = toolsOf(profile);
    const fields = ["depends_on"];
    expect(spoken.filter((tool) => !tools.includes(tool) && !fields.includes(tool))).toEqual([]);
  });

  it("can end in every way that its exit rule asks for", () => {
    const exits = profile.exit?.tools ?? [];
    if (exits.length > 0) expect(toolsOf(profile)).toEqual(expect.arrayContaining([...exits]));
  });

  it("leaves the choice of the model to the user", () => {
    const { effort: _effort, ...rest } = profile.model ?? {};
    expect(rest).toEqual({});
  });
});

describe.each(["analyst", "oracle", "pair", "planner", "researcher", "reviewer", "summarizer"])(
  "%s",
  (name) => {
    it("can neither write nor run nor delegate", () => {
      const profile = shipped(name);
      expect(toolsOf(profile).filter((tool) => changing.includes(tool))).toEqual([]);
      expect(profile.workspace).toEqual({ allowWrites: false });
      expect(profile.mayDelegate).toBeUndefined();
    });
  },
);

describe.each(Object.entries(runners))("the shipped profile %s", (name, [model, tool]) => {
  it("runs what is written without a model, and is offered to no agent", () => {
    const { description, hidden, model: its, tools } = shipped(name);
    expect({ hidden, model: its, tools }).toEqual({
      hidden: true,
      model: { model },
      tools: [tool],
    });
    expect(description).toMatch(/without a language model/);
  });
});

describe("the archetypes", () => {
  it("have their capabilities and their triggers", () => {
    const told = names.map((name) => {
      const { capabilities, triggers = {} } = shipped(name);
      const words = [...(triggers.slash ?? []), ...(triggers.hotkeys ?? [])];
      return [name, capabilities.join(" "), ...words].join(": ");
    });
    expect(told).toEqual([
      "analyst: primary subtask",
      "builder: primary subtask",
      "coder: primary subtask",
      "general: primary subtask",
      "oracle: subtask: oracle",
      "orchestrator: orchestrator subtask primary: orchestrate",
      "pair: watcher subtask: pair: ctrl+shift+p",
      "planner: primary subtask",
      "researcher: primary subtask",
      "reviewer: subtask: review",
      "summarizer: primary subtask",
      "writer: primary subtask",
    ]);
  });

  it("general alone has all that its caller may hand on, and hands on what it has", () => {
    expect(names.filter((name) => !Array.isArray(shipped(name).tools))).toEqual(["general"]);
    expect(shipped("general").tools).toBe("*");
    expect(shipped("general")).not.toHaveProperty("mayDelegate");
  });

  it("the orchestrator writes and runs nothing itself, and can hand both on", () => {
    const orchestrator = shipped("orchestrator");
    const own = toolsOf(orchestrator);
    const handedOn = orchestrator.mayDelegate?.tools ?? [];
    expect(own).toEqual(expect.arrayContaining(["submit_plan", ...delegating]));
    for (const tool of ["write_file", "edit_file", "shell"]) {
      expect(own).not.toContain(tool);
      expect(handedOn).toContain(tool);
    }
    // Its own write roots are those of everyone below it.
    expect(orchestrator.workspace?.allowWrites).not.toBe(false);
  });

  it("whom the orchestrator sends keeps every tool of its own", () => {
    const handedOn = shipped("orchestrator").mayDelegate?.tools ?? [];
    for (const name of names.filter(
      (each) => !["general", "orchestrator", "pair"].includes(each),
    )) {
      expect([name, toolsOf(shipped(name)).filter((tool) => !handedOn.includes(tool))]).toEqual([
        name,
        [],
      ]);
    }
  });

  it("only the pair interjects, and only the orchestrator submits plans", () => {
    const having = (tool: string) =>
      names.filter((name) => shipped(name).tools?.includes(tool) === true);
    expect(having("interject")).toEqual(["pair"]);
    expect(having("submit_plan")).toEqual(["orchestrator"]);
    expect(having("shell")).toEqual(["builder", "coder"]);
    expect(having("write_file")).toEqual(["builder", "coder", "writer"]);
  });
});
