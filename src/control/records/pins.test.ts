import { describe, expect, it } from "vitest";
import { ControlPlane } from "./control-plane.ts";
import { agent, openControlPlane, operator, refusalOf } from "./open-control-plane.test-support.ts";

const context = { session: "s1", user: "otto", workspace: "/srv/app" };

describe("pin resolve agentId → profileId", () => {
  it("pins the profile that the handle leads to, and keeps it when the handle is gone", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    await plane.register(agent("@scribe", { profileId: "writer" }), operator);
    const pin = await plane.pinAgent("session", "@scribe", context, operator);
    expect(pin).toMatchObject({ profileId: "writer", source: "profile-pin:session:s1" });
    expect(await store.readRecord("policy", "profile-pin:session:s1")).toMatchObject({
      value: { profileId: "writer" },
    });
    await plane.unregister("@scribe", operator);
    expect(await plane.effectivePin(context)).toEqual({
      scope: "session",
      profileId: "writer",
      source: "profile-pin:session:s1",
    });
  });

  it("lets the narrower scope decide, in whatever order they were pinned", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    const deciding = async () => (await plane.effectivePin(context))?.scope;
    expect(await deciding()).toBeUndefined();
    for (const scope of ["global", "session", "workspace", "user"] as const) {
      await plane.pin(scope, scope === "global" ? "writer" : "coder", context, operator);
    }
    expect((await plane.pins(context)).map(({ source }) => source)).toEqual([
      "profile-pin:session:s1",
      "profile-pin:user:otto",
      "profile-pin:workspace:/srv/app",
      "profile-pin:global",
    ]);
    for (const scope of ["session", "user", "workspace", "global"] as const) {
      expect(await deciding()).toBe(scope);
      expect(await plane.unpin(scope, context, operator)).toBe(true);
    }
    expect(await deciding()).toBeUndefined();
  });

  it("removes the record itself when it is unpinned", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    await plane.pin("global", "writer", context, operator);
    await plane.unpin("global", context, operator);
    expect(await store.listRecords("policy")).toEqual([]);
    expect(await plane.unpin("global", context, operator)).toBe(false);
    await plane.pin("global", "coder", context, operator);
    expect(await plane.pins(context)).toMatchObject([{ scope: "global", profileId: "coder" }]);
  });

  it("is an error when the pinned profile is gone, and no wider pin takes its place", async () => {
    await using opened = openControlPlane();
    const { plane, profiles } = opened;
    await plane.pin("session", "coder", context, operator);
    await plane.pin("global", "writer", context, operator);
    profiles.delete("coder");
    expect(await refusalOf(() => plane.effectivePin(context))).toBe(
      'unknown-profile: The session pin (profile-pin:session:s1) names the profile "coder", which does not exist. Bring the profile back, or remove the pin: /agents unpin --session',
    );
    expect(await plane.pins(context)).toHaveLength(2);
    await plane.unpin("session", context, operator);
    expect(await plane.effectivePin(context)).toMatchObject({ profileId: "writer" });
  });

  it("is an error when what is stored is no pin", async () => {
    await using opened = openControlPlane();
    const { plane, store } = opened;
    await plane.pin("global", "writer", context, operator);
    const record = { resourceType: "policy", resourceId: "profile-pin:session:s1" };
    for (const [expectedVersion, value] of [{}, { profileId: 1 }, [], "writer"].entries()) {
      await store.changeRecords([{ ...record, expectedVersion, value }], "somebody");
      expect(await refusalOf(() => plane.effectivePin(context))).toMatch(
        /^config-invalid: policy\/profile-pin:session:s1: a pin is/,
      );
    }
  });

  it("refuses a profile or an agent that does not exist", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    expect(await refusalOf(() => plane.pin("session", "nobody", context, operator))).toBe(
      'unknown-profile: There is no profile "nobody".',
    );
    expect(await refusalOf(() => plane.pinAgent("session", "@nobody", context, operator))).toBe(
      "unknown-agent: Agent not found: @nobody",
    );
    expect(await plane.pins(context)).toEqual([]);
  });

  it("needs a scope that is there, and says which are", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    expect(await refusalOf(() => plane.pin("session", "coder", { user: "otto" }, operator))).toBe(
      "usage: There is no session here that could have a pin. Say --user, --global.",
    );
    for (const session of ["", "a\nb", "x".repeat(2000), "\ud800"]) {
      expect(await refusalOf(() => plane.pin("session", "coder", { session }, operator))).toMatch(
        /^usage: /,
      );
    }
  });

  it("does not take one scope's id for another's", async () => {
    await using opened = openControlPlane();
    const { plane } = opened;
    await plane.pin("session", "coder", { session: "otto" }, operator);
    await plane.pin("workspace", "coder", { workspace: "a:global" }, operator);
    expect(await plane.effectivePin({ user: "otto", session: "global" })).toBeUndefined();
  });

  it("uses the workspace it was opened for when nobody names one", async () => {
    await using opened = openControlPlane();
    const { store, profiles } = opened;
    const plane = new ControlPlane({ store, profiles, defaultWorkspace: "/srv/app" });
    await plane.pin("workspace", "coder", {}, operator);
    expect(await plane.effectivePin({})).toMatchObject({
      source: "profile-pin:workspace:/srv/app",
    });
    expect(await plane.effectivePin({ workspace: "/srv/other" })).toBeUndefined();
  });
});
