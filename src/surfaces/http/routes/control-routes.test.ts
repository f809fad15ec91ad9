import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { MandateApiError } from "../../client/mandate-client.ts";
import { openApi, refusal } from "./api.test-support.ts";

const options: EngineOptions = {
  profiles: [
    testProfile("writer", { triggers: { hotkeys: ["ctrl+w"] } }),
    testProfile("saver", { tools: ["memory_save"] }),
  ],
  model({ caller, messages }) {
    if (caller.profile === "saver" && messages.at(-1)?.role === "user") {
      const input = { text: "the build is slow", tags: ["build"] };
      return { calls: [{ tool: "memory_save", input }] };
    }
    return { text: `said: ${caller.task}` };
  },
};

describe("agents, records and pins over HTTP", () => {
  it("registers, shows and unregisters agents, as an operator", async () => {
    await using api = await openApi(options);
    const entry = { agentId: "@writer", profileId: "writer", description: "Writes." };
    const made = await api.client.registerAgent({ ...entry, allowedForwardSkills: [] });
    expect(made).toMatchObject({ ...entry, allowedForwardSkills: [], profileExists: true });
    // A restriction must not vanish because somebody wrote a better description.
    const better = await api.client.registerAgent({ ...entry, description: "Writes well." });
    expect(better).toMatchObject({ description: "Writes well.", allowedForwardSkills: [] });
    expect((await api.client.listAgents()).items).toEqual([better]);
    const { runId } = await api.client.startRun({ task: "x", agent: "@writer", wait: 20_000 });
    expect((await api.client.getRun({ runId })).tree[0]?.profile).toBe("writer");
    const viewer = await api.as("viewer");
    expect(await viewer.getAgent({ agentId: "@writer" })).toEqual(better);
    expect(await refusal(viewer.unregisterAgent({ agentId: "@writer" }))).toBe("403 forbidden");
    const lost = api.client.registerAgent({ ...entry, profileId: "nobody" });
    expect(await refusal(lost)).toBe("404 unknown-profile");
    await api.client.unregisterAgent({ agentId: "@writer" });
    expect(await refusal(api.client.getAgent({ agentId: "@writer" }))).toBe("404 unknown-agent");
    expect(await refusal(api.client.getAgent({ agentId: "@Wr/ter" }))).toBe("400 request-invalid");
  });

  it("replaces the registry as a whole, and shows what it is now to whoever is late", async () => {
    await using api = await openApi(options);
    const { value, version } = await api.client.getRegistry();
    expect([value, version]).toEqual([{ version: 1, agents: [] }, 0]);
    const agents = [{ agentId: "@writer", profileId: "writer", description: "Writes." }];
    const next = { version: 1, agents };
    const put = await api.client.putRegistry({ value: next, expectedVersion: 0 });
    expect(put).toMatchObject({ version: 1, value: next, updatedBy: "local" });
    const late = api.client.putRegistry({ value: { version: 1, agents: [] }, expectedVersion: 0 });
    await expect(late).rejects.toMatchObject({
      status: 409,
      code: "conflict",
      problem: { current: { version: 1, value: next } },
    });
    await expect(late).rejects.toBeInstanceOf(MandateApiError);
    const wrong = { version: 1, agents: [{ agentId: "@writer", profileId: "x", descriptoin: "" }] };
    const refused = api.client.putRegistry({ value: wrong, expectedVersion: 1 });
    expect(await refusal(refused)).toBe("422 config-invalid");
    expect((await api.client.getRegistry()).version).toBe(1);
  });

  it("lets an operator decide for itself and for served folders, and for nobody else", async () => {
    await using api = await openApi(options);
    const operator = await api.as("operator", "ann");
    const pin = { profileId: "writer", expectedVersion: 0 };
    const foreign = [
      { ...pin, scope: "user", id: "local" },
      { ...pin, scope: "user", id: "bob" },
      { ...pin, scope: "session", id: "bob/talk" },
      { ...pin, scope: "session", id: "talk" },
      { ...pin, scope: "session", id: "ann/" },
      { ...pin, scope: "workspace", id: "/" },
      { ...pin, scope: "workspace", id: `${api.engine.workspace}/.` },
    ] as const;
    for (const one of foreign) {
      expect(await refusal(operator.putPin(one)), one.id).toBe("403 refused-by-policy");
    }
    const own = [
      { ...pin, scope: "user", id: "ann" },
      { ...pin, scope: "session", id: "ann/talk" },
      { ...pin, scope: "workspace", id: api.engine.workspace },
    ] as const;
    for (const one of own) expect(await operator.putPin(one)).toMatchObject({ id: one.id });
    await api.client.putPin({ ...pin, scope: "user", id: "bob" });
    const bobs = { scope: "user", id: "bob", expectedVersion: 1 } as const;
    expect(await refusal(operator.deletePin(bobs))).toBe("403 refused-by-policy");
    await api.client.deletePin(bobs);
    expect((await operator.listPins()).items).toHaveLength(3);
  });

  it("edits pins by scope and version, and says which one counts", async () => {
    await using api = await openApi(options);
    const everybody = { scope: "global", profileId: "writer" } as const;
    const pin = await api.client.putPin({ ...everybody, expectedVersion: 0 });
    expect(pin).toMatchObject({ record: "policy/profile-pin:global", id: null, version: 1 });
    const own = { scope: "user", profileId: "saver", expectedVersion: 0 } as const;
    expect(await api.client.putPin(own)).toMatchObject({ id: "local" });
    const { effective, items } = await api.client.listPins();
    expect(effective).toMatchObject({ scope: "user", profileId: "saver" });
    expect(items).toHaveLength(2);
    const viewer = await api.as("viewer");
    expect((await viewer.listPins()).effective).toMatchObject({ scope: "global" });
    expect(await refusal(viewer.putPin({ ...everybody, expectedVersion: 1 }))).toBe(
      "403 refused-by-policy",
    );
    const late = api.client.putPin({ ...everybody, expectedVersion: 0 });
    expect(await refusal(late)).toBe("409 conflict");
    const unsaid = { scope: "session", profileId: "writer", expectedVersion: 0 } as const;
    expect(await refusal(api.client.putPin(unsaid))).toBe("400 usage");
    const named = { ...everybody, id: "x", expectedVersion: 1 };
    expect(await refusal(api.client.putPin(named))).toBe("400 usage");
    await api.client.deletePin({ scope: "user", expectedVersion: 1 });
    await api.client.deletePin({ scope: "global", expectedVersion: 1 });
    expect(await api.client.listPins()).toEqual({ effective: null, problem: null, items: [] });
  });

  it("lets everybody set and remove their own user pin, and nobody else's", async () => {
    await using api = await openApi(options);
    const vera = await api.as("viewer", "vera");
    const own = { scope: "user", profileId: "writer", expectedVersion: 0 } as const;
    expect(await vera.putPin(own)).toMatchObject({ id: "vera", updatedBy: "vera" });
    expect((await vera.listPins()).effective).toMatchObject({ scope: "user" });
    const others = [
      { ...own, id: "ann" },
      { ...own, id: "vera:x" },
      { ...own, scope: "global" as const },
      { ...own, scope: "session" as const, id: "vera/talk" },
      { ...own, scope: "workspace" as const, id: api.engine.workspace },
    ];
    for (const pin of others) {
      expect(await refusal(vera.putPin(pin)), pin.scope).toBe("403 refused-by-policy");
    }
    await vera.deletePin({ scope: "user", expectedVersion: 1 });
    expect((await vera.listPins()).items).toEqual([]);
  });

  it("lists a broken pin with what is wrong, and the others beside it", async () => {
    await using api = await openApi(options);
    const pin = { profileId: "writer", expectedVersion: 0 };
    await api.client.putPin({ ...pin, scope: "global" });
    const broken = { resourceType: "policy", resourceId: "profile-pin:user:local" };
    const change = { ...broken, expectedVersion: 0, value: { profile: "x" } };
    await api.engine.store.changeRecords([change], "test");
    const { effective, items, problem } = await api.client.listPins();
    expect({ effective, problem }).toEqual({
      effective: null,
      problem: expect.stringContaining("/agents unpin --user"),
    });
    expect(items).toMatchObject([
      { scope: "global", profileId: "writer", problem: null },
      { scope: "user", profileId: null, problem: expect.stringContaining("a pin is") },
    ]);
    await api.client.deletePin({ scope: "user", expectedVersion: 1 });
    expect((await api.client.listPins()).effective).toMatchObject({ scope: "global" });
  });

  it("keeps the sessions of one principal out of another's reach", async () => {
    await using api = await openApi(options);
    await api.client.registerAgent({ agentId: "@writer", profileId: "writer", description: "W." });
    const viewer = await api.as("viewer");
    const text = "/agents pin @writer --session";
    expect(await viewer.executeCommand({ text, session: "s1" })).toMatchObject({ ok: true });
    expect((await viewer.listPins({ session: "s1" })).effective).toMatchObject({
      profileId: "writer",
    });
    expect((await api.client.listPins({ session: "s1" })).effective).toBeNull();
  });

  it("executes commands as whoever asks, and completes what is typed", async () => {
    await using api = await openApi(options);
    const viewer = await api.as("viewer");
    expect(await viewer.executeCommand({ text: "/status" })).toEqual({
      ok: true,
      reply: "Nothing runs.",
      code: null,
      data: [],
    });
    for (const text of ["/spawnagent writer x", "/cancel r123456", "/agents unregister @nobody"]) {
      const refused = await viewer.executeCommand({ text });
      expect(refused, text).toMatchObject({ ok: false, code: "refused-by-policy", data: null });
    }
    const typo = await viewer.executeCommand({ text: "/stauts" });
    expect(typo).toMatchObject({ ok: false, code: "usage" });
    const { items } = await viewer.completeCommand({ prefix: "/stat" });
    expect(items.map(({ text }) => text)).toEqual(["/status"]);
    expect((await viewer.listHotkeys()).hotkeys).toContainEqual(
      expect.objectContaining({ keys: "ctrl+w", profile: "writer" }),
    );
  });

  it("shows where each field of a profile came from, and its prompt to operators", async () => {
    await using api = await openApi(options);
    const list = await api.client.listProfiles();
    expect(list.items.find(({ name }) => name === "writer")).toMatchObject({ origin: "test" });
    const profile = await api.client.getProfile({ profile: "writer" });
    expect(profile).toMatchObject({ usable: true, problem: null, prompt: "You are writer." });
    expect(profile.fields).toContainEqual(expect.objectContaining({ field: "description" }));
    const viewer = await api.as("viewer");
    expect((await viewer.getProfile({ profile: "writer" })).prompt).toBeNull();
    expect(await refusal(viewer.getProfile({ profile: "nobody" }))).toBe("404 unknown-profile");
    await expect(viewer.getProfile({ profile: "genral" })).rejects.toThrow(
      'There is no profile "genral". Did you mean "general"?',
    );
  });

  it("lists, shows, promotes and forgets what agents wrote down", async () => {
    await using api = await openApi(options);
    await api.client.startRun({ task: "save", profile: "saver", wait: 20_000 });
    const { items } = await api.client.listMemories({ text: "build", tag: "Build" });
    expect(items).toMatchObject([{ text: "the build is slow", profile: "saver" }]);
    const memoryId = items[0]?.id ?? "";
    expect(await api.client.getMemory({ memoryId })).toEqual(items[0]);
    const viewer = await api.as("viewer");
    expect(await refusal(viewer.forgetMemory({ memoryId }))).toBe("403 forbidden");
    await api.client.promoteMemory({ memoryId });
    expect(await api.client.forgetMemory({ memoryId })).toMatchObject({ status: "forgotten" });
    expect((await api.client.listMemories()).items).toEqual([]);
    expect((await api.client.listMemories({ all: true })).items).toHaveLength(1);
    expect(await refusal(api.client.promoteMemory({ memoryId }))).toBe("409 already-terminal");
    expect(await refusal(api.client.getMemory({ memoryId: "m123456" }))).toBe("404 unknown-memory");
  });

  it("gives tokens to admins alone, never wider than their own", async () => {
    await using api = await openApi(options);
    for (const role of ["viewer", "operator"] as const) {
      const client = await api.as(role);
      const wanted = { name: "mine", role: "admin" } as const;
      expect(await refusal(client.createToken(wanted))).toBe("403 forbidden");
      expect(await refusal(client.listTokens())).toBe("403 forbidden");
      expect(await refusal(client.revokeToken({ name: role }))).toBe("403 forbidden");
    }
    const bound = await api.as("admin", "bound", { scopes: ["web"] });
    const wide = { name: "wide", role: "operator", scopes: "*" } as const;
    expect(await refusal(bound.createToken(wide))).toBe("403 refused-by-policy");
    const { about, token } = await bound.createToken({ name: "next", role: "operator" });
    expect(about).toMatchObject({ scopes: ["web"], createdBy: "bound" });
    const { items } = await api.client.listTokens();
    expect(items.map(({ name }) => name)).toEqual(["bound", "next", "operator", "viewer"]);
    expect(JSON.stringify(items)).not.toContain(token);
    // Whatever key a request came under: the token is in no table, and no reply has it again.
    const request = {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "k" },
      body: JSON.stringify({ name: "once", role: "viewer" }),
    };
    const reply = await api.fetch("/api/v1/tokens", request);
    const once = (await reply.json()) as { readonly token: string };
    expect(once.token).toMatch(/^mnd_once_/);
    expect((await api.fetch("/api/v1/tokens", request)).status).toBe(409);
    expect(readFileSync(api.engine.database).includes(once.token)).toBe(false);
    expect(readFileSync(`${api.engine.database}-wal`).includes(once.token)).toBe(false);
    await api.client.revokeToken({ name: "next" });
    expect(await refusal(api.client.revokeToken({ name: "next" }))).toBe("404 not-found");
    const name = "local";
    expect(await refusal(api.client.createToken({ name, role: "admin" }))).toBe("400 usage");
  });
});
