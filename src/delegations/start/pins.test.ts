import { describe, expect, it } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";

const operator = { id: "local", role: "operator" } as const;
const profiles = ["one", "two", "three", "four"].map((name) => testProfile(name));

async function profileOf(mandate: Awaited<ReturnType<typeof openEngine>>, request: object) {
  const { events } = await mandate.run({ task: "go", ...request });
  return ofType(events, "agent.subagent_created")[0]?.payload.profile;
}

describe("a pin", () => {
  it("is the profile of whoever names none: session before user before workspace before global", async () => {
    await using mandate = await openEngine({ profiles, model: () => "done" });
    const { plane } = mandate.control;
    const { workspace } = mandate;
    const context = { session: "s1", user: "local", workspace };
    const request = { workspace, session: "s1" };
    expect(await profileOf(mandate, request)).toBe("general");
    await plane.pin("global", "one", context, operator);
    expect(await profileOf(mandate, request)).toBe("one");
    await plane.pin("workspace", "two", context, operator);
    expect(await profileOf(mandate, request)).toBe("two");
    await plane.pin("user", "three", context, operator);
    expect(await profileOf(mandate, request)).toBe("three");
    await plane.pin("session", "four", context, operator);
    expect(await profileOf(mandate, request)).toBe("four");
    expect(await profileOf(mandate, { ...request, profile: "one" })).toBe("one");
    await plane.unpin("session", context, operator);
    expect(await profileOf(mandate, request)).toBe("three");
  });

  it("to a profile that is gone is an error, and no other pin takes its place", async () => {
    await using mandate = await openEngine({ profiles, model: () => "done" });
    const { plane } = mandate.control;
    await plane.putProfile("gone", { description: "d", prompt: "p" }, 0, operator);
    await plane.pin("user", "gone", { user: "local" }, operator);
    await plane.pin("global", "one", {}, operator);
    await plane.deleteProfile("gone", 1, operator);
    await expect(mandate.run({ task: "go" })).rejects.toMatchObject({ code: "unknown-profile" });
  });

  it("is not changed by a delegation, which is pinned for that call alone", async () => {
    await using mandate = await openEngine({
      profiles: [...profiles, testProfile("lead", { tools: ["delegate_to_agent"] })],
      model: ({ caller }) => {
        const input = { agentId: "@two", task_instructions: "x" };
        if (caller.depth > 0 || caller.turn > 1) return "done";
        return { calls: [{ tool: "delegate_to_agent", input }] };
      },
    });
    const { plane } = mandate.control;
    await plane.register({ agentId: "@two", profileId: "two", description: "d" }, operator);
    await plane.pin("user", "lead", { user: "local" }, operator);
    expect(await profileOf(mandate, {})).toBe("lead");
    expect(await plane.effectivePin({ user: "local" })).toMatchObject({ profileId: "lead" });
    expect(await profileOf(mandate, {})).toBe("lead");
  });

  it("may be left aside by a handle, wherever a profile is named", async () => {
    await using mandate = await openEngine({ profiles, model: () => "done" });
    const { plane } = mandate.control;
    await plane.register({ agentId: "@two", profileId: "two", description: "d" }, operator);
    await plane.pin("global", "one", {}, operator);
    expect(await profileOf(mandate, { profile: "@two" })).toBe("two");
    expect(await profileOf(mandate, { agent: "@two" })).toBe("two");
    await expect(mandate.run({ task: "go", profile: "@nobody" })).rejects.toMatchObject({
      code: "unknown-agent",
    });
  });
});
