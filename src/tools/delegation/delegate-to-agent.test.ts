import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentEntry } from "../../control/records/agent-registry.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";

const operator = { id: "local", role: "operator" } as const;
const writer: AgentEntry = {
  agentId: "@writer",
  profileId: "scribe",
  description: "Writes <clear> docs.",
};

const profiles = [
  testProfile("lead", {
    tools: ["delegate_to_agent", "list_sub_agents"],
    mayDelegate: { tools: ["read_file", "load_skill"], skills: "*" },
  }),
  testProfile("scribe", {
    tools: ["read_file", "load_skill"],
    skills: ["style", "tone", "extra"],
    model: { model: "test/own", allow: ["test/other"] },
  }),
];

function leadThat(...inputs: readonly object[]): Script {
  return ({ caller, model }) => {
    if (caller.depth > 0) return { text: `written on ${model}` };
    const input = inputs[caller.turn - 1];
    return input === undefined ? "done" : { calls: [{ tool: "delegate_to_agent", input }] };
  };
}

async function open(script: Script, entries: readonly AgentEntry[], more: EngineOptions = {}) {
  const { seen, model } = recording(script);
  const mandate = await openEngine({ profiles, model, ...more });
  for (const entry of entries) await mandate.control.plane.register(entry, operator);
  return { mandate, seen };
}

async function answers(mandate: TestEngine) {
  const { events } = await mandate.run({ task: "go", profile: "lead" });
  return {
    events,
    said: ofType(events, "agent.tool_completed").map((each) => each.payload.output),
  };
}

const task = { agentId: "@writer", task_instructions: "write" };

describe("delegate_to_agent", () => {
  it("runs the profile that the handle leads to, and gives its result", async () => {
    const { mandate } = await open(leadThat(task), [writer]);
    await using _ = mandate;
    const { events, said } = await answers(mandate);
    expect(said).toEqual(["written on test/own"]);
    const [, child] = ofType(events, "agent.subagent_created");
    expect(child?.payload.profile).toBe("scribe");
    const contract = await mandate.store.readContract(child?.sub_agent_id ?? "");
    expect(contract.profile).toMatchObject({ id: "scribe", agent: "@writer" });
  });

  it("finds a profile by its name, and by the id of a record", async () => {
    const { mandate } = await open(leadThat(task, { ...task, agentId: "@recorded" }), [writer]);
    await using _ = mandate;
    const { plane } = mandate.control;
    const value = { description: "d", prompt: "From the record.", tools: ["read_file"] };
    await plane.putProfile("profile:recorded:v7", value, 0, operator);
    const entry = { agentId: "@recorded", profileId: "profile:recorded:v7", description: "d" };
    await plane.register(entry, operator);
    const { events, said } = await answers(mandate);
    expect(said).toHaveLength(2);
    const created = ofType(events, "agent.subagent_created").map((each) => each.payload.profile);
    expect(created).toEqual(["lead", "scribe", "profile:recorded:v7"]);
  });

  it.each(["@nobody", "writer", "@WRITER", "@wrіter", "__proto__"])(
    "answers the unknown agent %j with its name, and makes no child",
    async (agentId) => {
      const { mandate } = await open(leadThat({ ...task, agentId }), [writer]);
      await using _ = mandate;
      const { events } = await answers(mandate);
      expect(ofType(events, "agent.tool_failed")[0]?.payload.error).toBe(
        `Error: unknown agent '${agentId}' Known: @writer.`,
      );
      expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
    },
  );

  it("lists the agents that can be delegated to, and no others", async () => {
    const chief = testProfile("chief", { capabilities: ["primary"] });
    const eye = testProfile("eye", { capabilities: ["watcher"] });
    const gone = testProfile("gone");
    const { mandate, seen } = await open(leadThat({ ...task, agentId: "@nobody" }), [writer], {
      profiles: [...profiles, chief, eye],
    });
    await using _ = mandate;
    await using other = await mandate.another({ profiles: [chief, eye, gone], model: () => "" });
    for (const { name } of [chief, eye, gone]) {
      const entry = { agentId: `@${name}`, profileId: name, description: "d" };
      await other.control.plane.register(entry, operator);
    }
    await mandate.control.view.refresh(true);
    const { events } = await answers(mandate);
    expect(seen[0]?.system).toContain(
      '<available_agents>\n  <agent id="@writer">Writes &lt;clear&gt; docs.</agent>\n</available_agents>',
    );
    expect(ofType(events, "agent.tool_failed")[0]?.payload.error).toBe(
      "Error: unknown agent '@nobody' Known: @writer.",
    );
  });

  it("sees an agent that was registered or removed while the run was under way", async () => {
    const { mandate } = await open(({ caller }) => {
      if (caller.depth > 0) return "written";
      const calls = [{ tool: "delegate_to_agent", input: task }];
      return caller.turn > 2 ? "done" : { calls, latency_ms: 50 };
    }, []);
    await using _ = mandate;
    let turns = 0;
    const stop = mandate.store.subscribe((events) => {
      for (const { type } of events) {
        if (type === "agent.tool_failed" && turns++ === 0) {
          void mandate.control.plane.register(writer, operator);
        }
      }
    });
    const { events } = await answers(mandate);
    stop();
    expect(ofType(events, "agent.tool_failed")).toHaveLength(1);
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
  });
});

describe("delegation clamps model override", () => {
  it("to the delegated profile's own model, and says so in fixed words", async () => {
    const { mandate } = await open(leadThat({ ...task, model_override: "openai/gpt-9" }), [writer]);
    await using _ = mandate;
    const { events, said } = await answers(mandate);
    expect(said).toEqual([
      "written on test/own\n\nModel override clamped to delegated profile model (test/own).",
    ]);
    expect(ofType(events, "agent.model_clamped")[0]?.payload).toEqual({
      requested: "openai/gpt-9",
      granted: "test/own",
    });
  });

  it("and lets one through that the profile allows", async () => {
    const { mandate } = await open(leadThat({ ...task, model_override: "test/other" }), [writer]);
    await using _ = mandate;
    const { events, said } = await answers(mandate);
    expect(said).toEqual(["written on test/other"]);
    expect(ofType(events, "agent.model_clamped")).toEqual([]);
  });
});

describe("skills of a delegated agent", () => {
  const skilled = async (entry: Partial<AgentEntry>, input: object, lead = {}) => {
    const { mandate, seen } = await open(
      leadThat({ ...task, ...input }),
      [{ ...writer, ...entry }],
      {
        profiles: [{ ...profiles[0], ...lead } as never, profiles[1] as never],
        trustWorkspace: true,
      },
    );
    for (const name of ["style", "tone", "extra", "other"]) {
      const folder = join(mandate.workspace, ".mandate/skills", name);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "SKILL.md"), `---\nname: ${name}\ndescription: d\n---\nBody`);
    }
    await using _ = mandate;
    const { events, said } = await answers(mandate);
    const [, child] = ofType(events, "agent.subagent_created");
    const { skills } = (await mandate.store.readContract(child?.sub_agent_id ?? "")).permissions;
    return { skills, said, events, seen };
  };

  it("are the parent's ∩ the profile's ∩ the registry's", async () => {
    const entry = { allowedForwardSkills: ["skill:style", "skill:other"] };
    const { skills, said, events } = await skilled(entry, {
      forward_skills: ["skill:style", "tone", "other"],
    });
    expect(skills).toEqual(["style"]);
    expect(said).toEqual(["written on test/own\n\nClamped skills: tone, other."]);
    expect(ofType(events, "agent.skills_clamped")[0]?.payload).toEqual({
      requested: ["style", "tone", "other"],
      granted: ["style"],
    });
  });

  it("are the entry's defaults when the call forwards none, and none without defaults", async () => {
    expect((await skilled({ defaultForwardSkills: ["skill:tone"] }, {})).skills).toEqual(["tone"]);
    expect((await skilled({}, {})).skills).toEqual([]);
  });

  it("are refused where none of those that are forwarded is left, and no child is made", async () => {
    const entry = { ...writer, allowedForwardSkills: [] };
    const { mandate } = await open(leadThat({ ...task, forward_skills: ["style"] }), [entry]);
    await using _ = mandate;
    const { events } = await answers(mandate);
    expect(ofType(events, "agent.tool_failed")[0]?.payload.error).toMatch(
      /^Error: None of the skills asked for "scribe" \(style\) can be granted/,
    );
    expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
  });

  it("are none when the call forwards an empty list, whatever the entry's defaults", async () => {
    const entry = { defaultForwardSkills: ["skill:tone"] };
    expect((await skilled(entry, { forward_skills: [] })).skills).toEqual([]);
  });

  it("are never more than the parent may hand on", async () => {
    const lead = { mayDelegate: { tools: ["read_file", "load_skill"], skills: ["tone"] } };
    const { skills } = await skilled({}, { forward_skills: ["style", "tone"] }, lead);
    expect(skills).toEqual(["tone"]);
  });
});

describe("what the registry does not allow", () => {
  it("is not handed on by the agent either", async () => {
    const boss = testProfile("boss", { tools: "*", mayDelegate: { skills: "*", mcpServers: "*" } });
    const { mandate } = await open(
      ({ caller }) => {
        if (caller.turn > 1 || caller.depth > 1) return "done";
        const input = { profile: "general", task: "x" };
        if (caller.depth === 1) return { calls: [{ tool: "delegate_task", input }] };
        return { calls: [{ tool: "delegate_to_agent", input: { ...task, agentId: "@boss" } }] };
      },
      [],
      { profiles: [testProfile("lead", { tools: "*" }), boss] },
    );
    await using _ = mandate;
    const entry = { agentId: "@boss", profileId: "boss", description: "d" };
    const none = { allowedForwardSkills: [], allowedMcpServers: [] };
    await mandate.control.plane.register({ ...entry, ...none }, operator);
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    const created = ofType(events, "agent.subagent_created");
    expect(created).toHaveLength(3);
    for (const { sub_agent_id: id } of created.slice(1)) {
      const { permissions } = await mandate.store.readContract(id ?? "");
      expect([permissions.skills, permissions.mcp_servers]).toEqual([[], []]);
      const { skills = [], mcp_servers: servers = [] } = permissions.may_delegate ?? {};
      expect([skills, servers]).toEqual([[], []]);
    }
  });

  it("cannot be reached by another name: rules speak of the profile behind a handle too", async () => {
    const lead = testProfile("lead", {
      tools: ["delegate_task", "delegate_to_agent", "read_file"],
      toolRules: [
        { tool: "delegate_task", match: "scribe", action: "deny" },
        { tool: "delegate_to_agent", match: "scribe", action: "deny" },
      ],
    });
    const { mandate } = await open(
      ({ caller }) => {
        const input = { profile: "@writer", task: "x" };
        if (caller.turn === 1) return { calls: [{ tool: "delegate_task", input }] };
        return caller.turn === 2 ? { calls: [{ tool: "delegate_to_agent", input: task }] } : "done";
      },
      [],
      { profiles: [lead, profiles[1] as never] },
    );
    await using _ = mandate;
    await mandate.control.plane.register(writer, operator);
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    expect(ofType(events, "agent.tool_denied")).toHaveLength(2);
    expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
  });
});

describe("the list of agents", () => {
  it("is always in the context of whoever can delegate by handle, in a stable form", async () => {
    const { mandate, seen } = await open(leadThat(), [
      { ...writer, tags: ["docs", "tone"] },
      { agentId: "@ada", profileId: "scribe", description: "Another." },
    ]);
    await using _ = mandate;
    await answers(mandate);
    await answers(mandate);
    const [first, second] = seen;
    expect(first?.system).toContain(
      '<available_agents>\n  <agent id="@ada">Another.</agent>\n  <agent id="@writer" tags="docs, tone">Writes &lt;clear&gt; docs.</agent>\n</available_agents>',
    );
    expect(first?.system).not.toMatch(/scribe|policy|registry:default|test\/own/);
    expect(second?.system).toBe(first?.system);
  });

  it("is left out when nobody is registered, and for those who cannot use it", async () => {
    const { mandate, seen } = await open(leadThat(), []);
    await using _ = mandate;
    await answers(mandate);
    await mandate.control.plane.register(writer, operator);
    await mandate.run({ task: "go", profile: "scribe" });
    for (const { system } of seen) expect(system).not.toContain("available_agents");
  });
});
