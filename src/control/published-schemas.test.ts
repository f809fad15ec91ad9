import { expect, test } from "vitest";
import { z } from "zod";
import { publishedSchemas } from "./config-schema.ts";

const read = (name: string): z.ZodType =>
  z.fromJSONSchema(publishedSchemas()[name] as Parameters<typeof z.fromJSONSchema>[0]);

test("an editor accepts what the product accepts, and underlines a typo", () => {
  const config = read("mandate.schema.json");
  const good = {
    agents: { delegation: { maxDepth: 2, profiles: { directory: "agents" } } },
    models: { pools: { one: "a/b", two: ["a/b", "c/d"] } },
    integration: { checks: ["npm test"], approval: true },
    mcp: { servers: { docs: { kind: "stdio", command: "docs" } } },
    profiles: { coder: { tools: [], limits: { turns: 3 } } },
  };
  expect(config.safeParse(good).success).toBe(true);
  expect(config.safeParse({ agents: { delegation: { maxDeph: 2 } } }).success).toBe(false);
  expect(config.safeParse({ agents: { delegation: { maxDepth: "2" } } }).success).toBe(false);
  expect(config.safeParse({ integration: { checks: "npm test" } }).success).toBe(false);
});

test("a profile has a schema too", () => {
  const profile = read("profile.schema.json");
  const workspace = { isolation: "custom", folder: "docs", checks: ["make"], approval: true };
  expect(profile.safeParse({ workspace, exit: { evidence: "files" } }).success).toBe(true);
  expect(profile.safeParse({ description: "d", allowedTools: ["read_file"] }).success).toBe(true);
  expect(profile.safeParse({ description: "d", tols: [] }).success).toBe(false);
});
