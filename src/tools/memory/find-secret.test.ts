import { expect, test } from "vitest";
import { cleanMemory, holdsSecret, secretsOf } from "./clean-memory.ts";

const letters = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4";

/** Put together here, so that nobody who scans this repository takes them for real ones. */
const secrets = [
  `sk-${letters}`,
  `sk-ant-api03-${letters}`,
  `sk-proj-${letters}`,
  `sk_live_${letters}`,
  `AIza${letters}`,
  `AKIA${"A1B2C3D4E5F6G7H8"}`,
  `ghp_${letters}`,
  `github_pat_${letters}`,
  `glpat-${letters}`,
  `xoxb-${letters}`,
  `hf_${letters}`,
  `npm_${letters}`,
  `-----BEGIN OPENSSH PRIVATE KEY-----`,
  `eyJ${letters}.eyJ${letters}.${letters}`,
  `Authorization: Bearer ${letters}`,
  `postgres://app:hunter22@db.internal/app`,
  `API_KEY=${letters}`,
  `"password": "${letters}"`,
];

test.each(secrets)("what looks like a secret is one, wherever it stands: %s", (secret) => {
  expect(holdsSecret(secret, [])).toBe(true);
  expect(holdsSecret(`The key is\n> \`${secret}\`, do not lose it.`, [])).toBe(true);
});

test.each([
  "Use Bearer authentication; the token is in the keyring.",
  "The skeleton-of-the-implementation is in sk-learn-like-modules-and-more.",
  "password: see the vault. token = the one that CI has",
  "git log 4f2a1b9c0d3e5f60718293a4b5c6d7e8f9012345 is where it broke",
  "https://example.com/a:b@c and http://user@example.com",
  "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "risk-assessment-of-the-whole-application and task-0000000000000000000000001",
  "The cache key = build-2024-linux-x64-release is stale.",
  "tokens: 1000000000000000000, maxTokens = 20000",
])("what merely speaks of keys, or is long, is none: %s", (text) => {
  expect(holdsSecret(text, [])).toBe(false);
});

test("what the environment calls a key is one, whatever it looks like", () => {
  const known = secretsOf({
    MY_API_KEY: "correct horse battery",
    SEARCH_TOKEN: "short",
    PATH: "/usr/local/bin:/usr/bin",
    KEYBOARD: "a-long-name-of-a-layout",
  });
  expect(known).toEqual(["correct horse battery"]);
  expect(holdsSecret("It is correct horse battery, I think.", known)).toBe(true);
  expect(holdsSecret("It is a horse.", known)).toBe(false);
});

test("a long hostile text is looked through", () => {
  const parts = [
    "sk-a-",
    "sk-",
    "eyJ",
    "eyJ.",
    "token = ",
    "://a:",
    "Bearer a",
    "Bearer ",
    "key=-",
  ];
  for (const part of [...parts, " ", "\t", "a-1-", "-----BEGIN ", "\u001b[1"]) {
    const text = part.repeat(20_000 / part.length);
    expect([part, holdsSecret(text, [])]).toEqual([part, false]);
    expect(cleanMemory(`${text}x`)).toMatch(/x$/);
  }
});
