import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { agent, openControlPlane, operator, refusalOf } from "./open-control-plane.test-support.ts";

let path: string;

beforeEach(() => {
  path = join(testFolder(), "mandate.db");
});

test("two control planes that register at once lose nothing of each other's", async () => {
  await using left = openControlPlane(path);
  await using right = openControlPlane(path);
  const all = [left, right].flatMap(({ plane }, side) =>
    Array.from({ length: 25 }, (_, index) => plane.register(agent(`@a${side}-${index}`), operator)),
  );
  await Promise.all(all);
  const { registry, version } = await left.plane.registry();
  expect(new Set(registry.agents.map(({ agentId }) => agentId)).size).toBe(50);
  expect(version).toBe(50);
  expect(await right.plane.registry()).toEqual({ registry, version });
});

test("of two who replace the registry they both read, one is told to read again", async () => {
  await using left = openControlPlane(path);
  await using right = openControlPlane(path);
  const outcomes = await Promise.all(
    [left, right].map(({ plane }, side) =>
      refusalOf(() =>
        plane.replaceRegistry({ version: 1, agents: [agent(`@side-${side}`)] }, 0, operator),
      ),
    ),
  );
  expect(outcomes.map((each) => each.split(":")[0]).sort()).toEqual(["accepted", "conflict"]);
});

test("twenty processes that register at once lose no update", async () => {
  const script = fileURLToPath(new URL("./register-agents.test-support.ts", import.meta.url));
  const ends = Array.from({ length: 20 }, async (_, index) => {
    const child = spawn(process.execPath, [script, path, `p${index}`, "5"], { stdio: "inherit" });
    const [code] = await once(child, "exit");
    return code;
  });
  expect(await Promise.all(ends)).toEqual(Array.from({ length: 20 }, () => 0));
  await using opened = openControlPlane(path);
  const { registry, version } = await opened.plane.registry();
  expect(new Set(registry.agents.map(({ agentId }) => agentId)).size).toBe(100);
  expect(version).toBe(100);
  expect((await checkStore(opened.store)).violations).toEqual([]);
}, 60_000);
