import { describe, expect, it } from "vitest";
import { controlRunId } from "../../ports/identity.ts";
import type { Store } from "../../ports/store.ts";
import {
  admin,
  agent,
  openControlPlane,
  operator,
  refusalOf,
  viewer,
} from "./open-control-plane.test-support.ts";
import type { Principal } from "./principal.ts";

async function changesIn(store: Store): Promise<readonly unknown[]> {
  const changes: unknown[] = [];
  for await (const { type, payload } of store.readEvents({ runId: controlRunId })) {
    if (type === "control.record_changed") changes.push(payload);
  }
  return changes;
}

const hash = "0a".repeat(32);

describe("the agent registry", () => {
  it("is empty at first, and lives in one policy record", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    expect(await plane.registry()).toEqual({ registry: { version: 1, agents: [] }, version: 0 });
    await plane.register(agent("@writer"), operator);
    const [record, ...others] = await store.listRecords("policy");
    expect(record).toMatchObject({
      resourceId: "agent-registry:default",
      version: 1,
      value: { version: 1, agents: [agent("@writer")] },
      updatedBy: "otto",
    });
    expect(others).toEqual([]);
    expect(await plane.entry("@writer")).toEqual(agent("@writer"));
    expect(await changesIn(store)).toMatchObject([
      { record: "policy/agent-registry:default", actor: "otto", before_hash: null },
    ]);
  });

  it("keeps a restriction when an agent is registered again without saying it", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const allowed = { allowedForwardSkills: ["a"], allowedMcpServers: [], tags: ["t"] };
    await plane.register(agent("@writer", allowed), operator);
    const again = { ...agent("@writer", { profileId: "coder" }), allowedForwardSkills: undefined };
    await plane.register(again as never, operator);
    expect(await plane.entry("@writer")).toEqual(
      agent("@writer", { profileId: "coder", ...allowed }),
    );
  });

  it("changes one field at a time, and takes a list away only when told so", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    await plane.register(agent("@writer", { allowedForwardSkills: ["a"], tags: ["t"] }), operator);
    await plane.change("@writer", { description: "New." }, operator);
    expect(await plane.entry("@writer")).toMatchObject({
      description: "New.",
      allowedForwardSkills: ["a"],
    });
    await plane.change("@writer", { allowedForwardSkills: null }, operator);
    expect(await plane.entry("@writer")).toEqual(
      agent("@writer", { description: "New.", tags: ["t"] }),
    );
    const renamed = { agentId: "@other" } as never;
    await plane.change("@writer", renamed, operator);
    expect((await plane.entry("@writer")).agentId).toBe("@writer");
    expect(await refusalOf(() => plane.change("@writer", { description: null }, operator))).toBe(
      "config-invalid: description: must be text",
    );
  });

  it("does not come back once it is unregistered", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    await plane.register(agent("@writer"), operator);
    await plane.unregister("@writer", operator);
    expect((await plane.registry()).registry.agents).toEqual([]);
    expect(await refusalOf(() => plane.entry("@writer"))).toBe(
      "unknown-agent: Agent not found: @writer",
    );
    expect(await refusalOf(() => plane.unregister("@writer", operator))).toBe(
      "unknown-agent: Agent not found: @writer",
    );
  });

  it("leads to profiles that exist, in files or in records", async () => {
    await using opened = openControlPlane();
    const { plane, profiles } = opened;
    expect(
      await refusalOf(() => plane.register(agent("@x1", { profileId: "editor" }), operator)),
    ).toBe('unknown-profile: There is no profile "editor".');
    await plane.putProfile("editor", { description: "Edits." }, 0, operator);
    await plane.register(agent("@x1", { profileId: "editor" }), operator);
    await plane.register(agent("@x2"), operator);
    profiles.delete("writer");
    // The file is gone; what is registered can still be looked at, changed and taken out.
    await plane.register(agent("@x3", { profileId: "coder" }), operator);
    await plane.change("@x2", { description: "Was a writer." }, operator);
    expect((await plane.entry("@x2")).profileId).toBe("writer");
    await plane.unregister("@x2", operator);
  });

  it("is replaced as a whole, from the version that was read, or not at all", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const { version } = await plane.register(agent("@writer"), operator);
    const before = await plane.registry();
    for (const bad of [
      '{"version":1,"agents":[',
      { version: 2, agents: [] },
      { version: 1, agents: [agent("@one"), agent("@two", { profileId: "nobody" })] },
      { version: 1, agents: [agent("@one"), agent("@one")] },
    ]) {
      expect(await refusalOf(() => plane.replaceRegistry(bad, version, operator))).toMatch(
        /^config-invalid: /,
      );
    }
    const next = { version: 1, agents: [agent("@one"), agent("@two")] };
    expect(await refusalOf(() => plane.replaceRegistry(next, version + 1, operator))).toMatch(
      /^conflict: /,
    );
    expect(await plane.registry()).toEqual(before);
    await plane.replaceRegistry(JSON.stringify(next), version, operator);
    expect((await plane.registry()).registry).toEqual(next);
  });

  it("cannot grow beyond its size, one agent at a time", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const many = Array.from({ length: 600 }, (_, index) =>
      agent(`@agent-${index}`, { description: "x".repeat(300), tags: ["y".repeat(60)] }),
    );
    const { version } = await plane.replaceRegistry({ version: 1, agents: many }, 0, operator);
    const skills = Array.from({ length: 100 }, (_, index) => `${index}-${"z".repeat(240)}`);
    const large = agent("@large", { allowedForwardSkills: skills });
    expect(await refusalOf(() => plane.register(large, operator))).toMatch(/larger than 256 KB/);
    expect((await plane.registry()).version).toBe(version);
  });

  it("says so when what is stored cannot be read, and lets an operator replace it", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    const registry = { resourceType: "policy", resourceId: "agent-registry:default" };
    const broken = { version: 1, agents: [{ ...agent("@writer"), alowedForwardSkills: [] }] };
    await store.changeRecords([{ ...registry, expectedVersion: 0, value: broken }], "somebody");
    for (const attempt of [
      () => plane.registry(),
      () => plane.entry("@writer"),
      () => plane.register(agent("@other"), operator),
      () => plane.unregister("@writer", operator),
    ]) {
      expect(await refusalOf(attempt)).toMatch(/^config-invalid: .*agents\[0\]: unknown key/);
    }
    await plane.apply({ version: 1, agents: [agent("@writer")] }, operator);
    expect((await plane.registry()).registry.agents).toEqual([agent("@writer")]);
  });
});

describe("roles", () => {
  const nobody = { id: "x", role: "__proto__" } as unknown as Principal;
  const registry = { version: 1, agents: [] };

  it("let viewers read and no more, and name the access that is missing", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    await plane.register(agent("@writer"), admin);
    const before = await changesIn(store);
    const attempts: readonly [string, (by: Principal) => Promise<unknown>][] = [
      ["Registering agent profiles", (by) => plane.register(agent("@other"), by)],
      ["Unregistering agent profiles", (by) => plane.unregister("@writer", by)],
      ["Changing agent profiles", (by) => plane.change("@writer", { tags: [] }, by)],
      ["Editing records", (by) => plane.replaceRegistry(registry, 1, by)],
      ["Applying agent profiles", (by) => plane.apply(registry, by)],
      ["Editing records", (by) => plane.editAllowlisted("policy/profile-pin:global", null, 1, by)],
      ["Changing profiles", (by) => plane.putProfile("p", { description: "d" }, 0, by)],
      ["Changing profiles", (by) => plane.deleteProfile("p", 1, by)],
      ["Trusting profiles", (by) => plane.trust(hash, { file: "f", name: "n" }, by)],
      ["Trusting profiles", (by) => plane.withdrawTrust(hash, by)],
      ["Workspace pin", (by) => plane.pin("workspace", "writer", { workspace: "/w" }, by)],
      ["Workspace pin", (by) => plane.unpin("workspace", { workspace: "/w" }, by)],
      ["Global pin", (by) => plane.pin("global", "writer", {}, by)],
      ["Global pin", (by) => plane.unpin("global", {}, by)],
    ];
    for (const [what, attempt] of attempts) {
      for (const by of [viewer, nobody]) {
        expect(await refusalOf(() => attempt(by))).toBe(
          `refused-by-policy: ${what} requires operator access.`,
        );
      }
    }
    expect(await changesIn(store)).toEqual(before);
    expect((await plane.registry()).registry.agents).toHaveLength(1);
  });

  it("let everybody pin for themselves, and nobody for another user", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const own = { session: "s1", user: "vera" };
    await plane.pin("session", "writer", own, viewer);
    await plane.pin("user", "coder", own, viewer);
    for (const by of [viewer, operator, admin]) {
      const other = { user: by.id === "otto" ? "vera" : "otto" };
      for (const attempt of [
        () => plane.pin("user", "writer", other, by),
        () => plane.unpin("user", other, by),
      ]) {
        expect(await refusalOf(attempt)).toBe(
          "refused-by-policy: User pin is for your own user only.",
        );
      }
    }
    expect(await refusalOf(() => plane.pin("session", "writer", own, nobody))).toBe(
      "refused-by-policy: Session pin requires viewer access.",
    );
    expect(await plane.pins({ user: "otto" })).toEqual([]);
  });
});

describe("trusted content", () => {
  it("is trusted by its exact hash, and trust can be withdrawn", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    const about = { file: "/srv/app/.mandate/agents/coder.md", name: "coder" };
    await plane.trust(hash, about, operator);
    await plane.trust(hash, { file: "elsewhere", name: "coder" }, operator);
    expect(await plane.trustedHashes()).toEqual(new Set([hash]));
    expect(await store.readRecord("policy", `acknowledged:${hash}`)).toMatchObject({
      value: about,
      version: 1,
    });
    expect(await plane.withdrawTrust(hash, operator)).toBe(true);
    expect(await plane.withdrawTrust(hash, operator)).toBe(false);
    expect(await plane.trustedHashes()).toEqual(new Set());
    await plane.trust(hash, about, operator);
    expect(await plane.trustedHashes()).toEqual(new Set([hash]));
  });

  it("is reached by the former names of the methods as well", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    await plane.acknowledge(hash, { file: "f", name: "n" }, operator);
    expect(await plane.acknowledged()).toEqual(new Set([hash]));
    expect(await plane.acknowledgements()).toEqual([{ file: "f", name: "n", hash }]);
    await expect(plane.acknowledge(hash, { file: "f", name: "n" }, viewer)).rejects.toThrow();
    expect(await plane.withdrawAcknowledgement(hash, operator)).toBe(true);
    expect(await plane.trustedContent()).toEqual([]);
  });

  it("is named by a SHA-256 and by nothing else", async () => {
    await using opened = openControlPlane();
    for (const bad of ["", "abc", hash.toUpperCase(), `${hash}0`, `${hash.slice(1)}/`]) {
      expect(
        await refusalOf(() => opened.plane.trust(bad, { file: "f", name: "n" }, operator)),
      ).toMatch(/^usage: .*is not a SHA-256/);
    }
  });
});

describe("profile records", () => {
  it("are judged as profiles before they are stored", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const refused = async (id: string, value: unknown) =>
      refusalOf(() => plane.putProfile(id, value, 0, operator));
    expect(await refused("editor", { description: "Edits.", allowedTool: [] })).toMatch(
      /^profile-invalid: .*unknown key "allowedTool"; did you mean "allowedTools"\?/,
    );
    expect(await refused("editor", { name: "other", description: "d" })).toMatch(
      /^profile-invalid: .*a record is called by its id/,
    );
    expect(await refused("../editor", { description: "d" })).toMatch(/cannot be a profile's id/);
    expect(await refused("editor", [])).toMatch(/^profile-invalid: /);
    expect(await refused("editor", '{"description":"a","description":"b"}')).toMatch(
      /description: the key is there twice/,
    );
    expect(await plane.profileRecords()).toEqual([]);
    await plane.putProfile("profile:editor:v1", { description: "Edits.", tools: [] }, 0, operator);
    expect(await plane.profileRecords()).toMatchObject([
      { resourceId: "profile:editor:v1", version: 1, value: { description: "Edits.", tools: [] } },
    ]);
  });

  it("cannot be deleted while an agent leads to them", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    await plane.putProfile("editor", { description: "Edits." }, 0, operator);
    await plane.register(agent("@ed", { profileId: "editor" }), operator);
    expect(await refusalOf(() => plane.deleteProfile("editor", 1, operator))).toBe(
      'refused-by-policy: The profile "editor" is the profile of @ed. Unregister them first, or give them another one.',
    );
    await plane.unregister("@ed", operator);
    expect(await refusalOf(() => plane.deleteProfile("editor", 7, operator))).toBe(
      'conflict: The profile record "editor" is at version 1; version 7 was expected. Read it again.',
    );
    await plane.deleteProfile("editor", 1, operator);
    expect(await plane.profileRecords()).toEqual([]);
    expect(
      await refusalOf(() => plane.register(agent("@ed", { profileId: "editor" }), operator)),
    ).toMatch(/^unknown-profile/);
  });

  it("are never deleted from under an agent that is registered at the same moment", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    for (let round = 0; round < 20; round += 1) {
      const id = `editor-${round}`;
      const agentId = `@ed-${round}`;
      await plane.putProfile(id, { description: "Edits." }, 0, operator);
      const register = () => plane.register(agent(agentId, { profileId: id }), operator);
      const remove = () => plane.deleteProfile(id, 1, operator);
      const both = round % 2 === 0 ? [register, remove] : [remove, register];
      const outcomes = await Promise.all(both.map(refusalOf));
      expect(outcomes.filter((each) => each === "accepted")).toHaveLength(1);
    }
    const stored = new Set((await plane.profileRecords()).map(({ resourceId }) => resourceId));
    const { registry } = await plane.registry();
    expect(registry.agents.every(({ profileId }) => stored.has(profileId))).toBe(true);
  });
});

describe("the editor of records", () => {
  it("reaches the registry and pins", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const registry = { version: 1, agents: [agent("@writer")] };
    await plane.editAllowlisted("policy/agent-registry:default", registry, 0, operator);
    expect((await plane.registry()).registry).toEqual(registry);
    const pin = '{"profileId":"coder"}';
    await plane.editAllowlisted("policy/profile-pin:user:vera", pin, 0, operator);
    expect(await plane.effectivePin({ user: "vera" })).toMatchObject({ profileId: "coder" });
    await plane.editAllowlisted("policy/profile-pin:user:vera", null, 1, operator);
    expect(await plane.effectivePin({ user: "vera" })).toBeUndefined();
  });

  it("reaches nothing else, for nobody", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    for (const record of [
      `policy/acknowledged:${hash}`,
      "policy/agent-registry:other",
      "policy/agent-registry:default ",
      "policy/profile-pin:",
      "policy/profile-pin:everybody",
      "policy/profile-pin:global:x",
      "policy/profile-pin:session:",
      "policy/profile-pin:session:a\u0000",
      "policy/profile-pin:GLOBAL",
      "profile/writer",
      "profile/profile-pin:global",
      "agent-registry:default",
      "",
    ]) {
      expect(
        await refusalOf(() => plane.editAllowlisted(record, { profileId: "coder" }, 0, admin)),
      ).toMatch(/^refused-by-policy: The record .* cannot be edited here\./);
    }
    expect(await changesIn(store)).toEqual([]);
  });

  it("judges what it is given as every other way does", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const edit = (record: string, value: unknown, version = 0) =>
      refusalOf(() => plane.editAllowlisted(`policy/${record}`, value, version, operator));
    expect(await edit("agent-registry:default", null)).toMatch(/^config-invalid/);
    expect(await edit("agent-registry:default", "{")).toMatch(/^config-invalid: .*not JSON/);
    expect(await edit("profile-pin:global", { profileId: "nobody" })).toMatch(/^unknown-profile/);
    expect(await edit("profile-pin:global", { profileId: "coder", role: "admin" })).toMatch(
      /a pin is \{"profileId": "…"\} and nothing else/,
    );
    expect(await edit("profile-pin:global", "coder")).toMatch(/^config-invalid/);
    expect(await edit("profile-pin:global", { profileId: "coder" }, 3)).toMatch(/^conflict/);
    expect(await plane.pins({})).toEqual([]);
  });
});
