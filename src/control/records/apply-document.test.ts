import { expect, test } from "vitest";
import {
  agent,
  openControlPlane,
  operator,
  refusalOf,
  viewer,
} from "./open-control-plane.test-support.ts";

const document = {
  version: 1,
  agents: [agent("@ed", { profileId: "editor", tags: ["text"] }), agent("@writer")],
  profiles: { editor: { description: "Edits.", tools: ["read_file"], prompt: "Line\n two\n" } },
  pins: { global: "editor", "workspace:/srv/app": "writer" },
};

test("a document changes registry, profiles and pins in one transaction", async () => {
  await using opened = openControlPlane();
  const { plane, store } = opened;
  const batches: number[] = [];
  store.subscribe((events) => batches.push(events.length));
  expect(await plane.apply(document, operator)).toEqual({
    agents: 2,
    profiles: 1,
    pins: 2,
    changed: 4,
  });
  expect((await plane.registry()).registry.agents).toEqual(document.agents);
  expect(await plane.effectivePin({ workspace: "/srv/app" })).toMatchObject({
    profileId: "writer",
  });
  expect(batches).toEqual([4]);
});

test("what is exported can be applied, and changes nothing", async () => {
  await using opened = openControlPlane();
  const { plane } = opened;
  await plane.apply(document, operator);
  const exported = await plane.exportDocument(operator);
  expect(exported).toEqual(document);
  expect(await plane.apply(exported, operator)).toMatchObject({ changed: 0 });
  await using other = openControlPlane();
  await other.plane.apply(JSON.stringify(exported), operator);
  expect(await other.plane.exportDocument(operator)).toEqual(document);
});

test("a viewer is given the public part alone", async () => {
  await using opened = openControlPlane();
  const { plane } = opened;
  await plane.apply(document, operator);
  expect(await plane.exportDocument(viewer)).toEqual({ version: 1, agents: document.agents });
});

test("a document that is wrong anywhere changes nothing anywhere", async () => {
  await using opened = openControlPlane();
  const { plane, store } = opened;
  await plane.apply(document, operator);
  const before = await plane.exportDocument(operator);
  const { agents, profiles, pins } = document;
  const refusals: readonly [object, string][] = [
    [{ ...document, version: 2 }, "version: must be the number 1"],
    [{ ...document, agent: [] }, 'unknown key "agent"; did you mean "agents"?'],
    [{ ...document, agents: [...agents, agent("@X")] }, "agents[2].agentId:"],
    [{ ...document, agents: [agent("@ok", { profileId: "nobody" })] }, "agents[0].profileId:"],
    [{ ...document, profiles: { editor: { description: 1 } } }, "profiles.editor: "],
    [{ ...document, profiles: { "a b": { description: "d" } } }, "profiles.a b: "],
    [{ ...document, profiles: [profiles] }, "profiles: must be an object"],
    [{ ...document, profiles: { editor: null } }, "agents[0].profileId: there is no profile"],
    [{ ...document, pins: { ...pins, global: "nobody" } }, "pins.global: there is no profile"],
    [{ ...document, pins: { "user:vera": "writer" } }, 'pins.user:vera: must be "global" or'],
    [{ ...document, pins: { "workspace:": "writer" } }, "pins.workspace:: must be"],
    [{ ...document, pins: { global: {} } }, "pins.global: must be text"],
    [{ ...document, pins: [] }, "pins: must be an object"],
  ];
  for (const [wrong, path] of refusals) {
    const refusal = await refusalOf(() => plane.apply(wrong, operator));
    expect(refusal).toMatch(/^config-invalid: /);
    expect(refusal).toContain(path);
  }
  expect(await refusalOf(() => plane.apply("[]", operator))).toMatch(/^config-invalid: /);
  expect(await plane.exportDocument(operator)).toEqual(before);
  expect((await store.readRecord("policy", "agent-registry:default"))?.version).toBe(1);
});

test("null takes a profile or a pin away, and what is not named stays", async () => {
  await using opened = openControlPlane();
  const { plane } = opened;
  await plane.apply(document, operator);
  const still = await refusalOf(() =>
    plane.apply({ version: 1, profiles: { editor: null } }, operator),
  );
  expect(still).toMatch(/^refused-by-policy: The profile "editor" is the profile of @ed\./);
  await plane.apply(
    { version: 1, agents: [], profiles: { editor: null }, pins: { global: null } },
    operator,
  );
  expect(await plane.exportDocument(operator)).toEqual({
    version: 1,
    agents: [],
    pins: { "workspace:/srv/app": "writer" },
  });
});
