import { expect, test } from "vitest";
import type { Profile } from "./profile.ts";
import { profileHash } from "./profile-hash.ts";

const profile: Profile = {
  name: "p",
  description: "d",
  capabilities: ["subtask"],
  prompt: "Prompt.",
  limits: { tokens: 1, depth: 2 },
  origin: "one",
};

test("origin and the order of keys do not count", () => {
  const other = Object.fromEntries(Object.entries(profile).reverse()) as unknown as Profile;
  const moved = { ...other, limits: { depth: 2, tokens: 1 }, origin: "two" };
  expect(profileHash(moved)).toBe(profileHash(profile));
  expect(profileHash(profile)).toMatch(/^[0-9a-f]{64}$/);
});

test("everything that can be said counts, and none is not the same as unsaid", () => {
  const hashes = [
    profile,
    { ...profile, prompt: "Prompt!" },
    { ...profile, limits: { tokens: 2, depth: 2 } },
    { ...profile, tools: [] },
    { ...profile, tools: ["a", "b"] },
    { ...profile, tools: ["b", "a"] },
    { ...profile, tools: "*" as const },
  ].map(profileHash);
  expect(new Set(hashes).size).toBe(hashes.length);
});
