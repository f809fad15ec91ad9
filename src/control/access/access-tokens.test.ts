import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { Store } from "../../ports/store.ts";
import { SqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import type { Principal } from "../records/principal.ts";
import { AccessTokens, installationToken, rotateInstallationToken } from "./access-tokens.ts";

const admin: Principal = { id: "local", role: "admin" };
let store: Store;
let file: string;
let now = 1_000_000;
let tokens: AccessTokens;

beforeEach(() => {
  store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
  file = join(testFolder(), "tokens");
  tokens = new AccessTokens(store, file, { ...systemClock, now: () => now });
});
afterEach(() => store.close());

describe("named tokens", () => {
  test("let their holder in with role and scopes, until they are revoked", async () => {
    const { token } = await tokens.create(
      { name: "reports", role: "operator", scopes: ["net.read"] },
      admin,
    );
    expect(await tokens.authenticate(token)).toEqual({
      id: "reports",
      role: "operator",
      scopes: ["net.read"],
    });
    // Another process, which knows nothing of what this one has cached.
    expect(await new AccessTokens(store, file).revoke("reports", admin)).toBe(true);
    expect(await tokens.authenticate(token)).toBeUndefined();
    expect(await tokens.revoke("reports", admin)).toBe(false);
    expect(await tokens.list()).toEqual([]);
    // Whoever gets a name has what its holder had: a name is given once.
    const again = tokens.create({ name: "reports", role: "viewer" }, admin);
    await expect(again).rejects.toThrow("There was a token called reports");
  });

  test("of operators see all runs only where that was said when they were made", async () => {
    const make = async (name: string, role: Principal["role"], allRuns?: boolean) => {
      const { about, token } = await tokens.create({ name, role, allRuns }, admin);
      const principal = await tokens.authenticate(token);
      return [about.allRuns, principal?.allRuns];
    };
    expect(await make("one", "operator")).toEqual([false, undefined]);
    expect(await make("two", "operator", true)).toEqual([true, true]);
    expect(await make("three", "viewer")).toEqual([true, undefined]);
    expect((await tokens.list()).map(({ allRuns, name }) => [name, allRuns])).toEqual([
      ["one", false],
      ["three", true],
      ["two", true],
    ]);
    // The record of an operator's token is as it was before there was a choice.
    const record = await store.readRecord("access-token", "one");
    expect(record?.value).not.toHaveProperty("allRuns");
  });

  test("are stored and logged without their secret", async () => {
    const { token } = await tokens.create({ name: "reports", role: "viewer" }, admin);
    const secret = token.slice("mnd_reports_".length);
    const [record] = await store.listRecords("access-token");
    expect(JSON.stringify(record)).not.toContain(secret);
    expect(JSON.stringify(await tokens.list())).not.toMatch(/hash|mnd_/);
    const types = [];
    for await (const event of store.readEvents({ runId: controlRunId })) {
      types.push(event.type);
      expect(JSON.stringify(event)).not.toContain(secret);
    }
    expect(types).toContain("control.record_changed");
  });

  test("are worth nothing when they have expired", async () => {
    const { token } = await tokens.create(
      { name: "brief", role: "viewer", expiresAt: now + 1000 },
      admin,
    );
    expect(await tokens.authenticate(token)).toMatchObject({ id: "brief" });
    now += 1000;
    expect(await tokens.authenticate(token)).toBeUndefined();
  });

  test("with another's name, another's secret or a changed record let nobody in", async () => {
    const one = await tokens.create({ name: "one", role: "viewer" }, admin);
    const two = await tokens.create({ name: "two", role: "admin" }, admin);
    const swapped = one.token.replace("mnd_one_", "mnd_two_");
    for (const wrong of [
      swapped,
      `${one.token} `,
      one.token.toUpperCase(),
      one.token.slice(0, -1),
      `${two.token}A`,
      "mnd_two_",
      "mnd___proto___".padEnd(60, "A"),
      "",
      "x".repeat(100_000),
    ]) {
      expect(await tokens.authenticate(wrong), wrong.slice(0, 60)).toBeUndefined();
    }
    const record = await store.readRecord("access-token", "two");
    await store.changeRecords(
      [
        {
          resourceType: "access-token",
          resourceId: "two",
          expectedVersion: record?.version ?? 0,
          value: { ...(record?.value as object), role: "root" },
        },
      ],
      "somebody",
    );
    expect(await tokens.authenticate(two.token)).toBeUndefined();
  });

  test("are made and ended by admins alone, under names of their own", async () => {
    const operator: Principal = { id: "ops", role: "operator" };
    const request = { name: "more", role: "viewer" } as const;
    await expect(tokens.create(request, operator)).rejects.toThrow("requires admin access");
    await expect(tokens.revoke("more", operator)).rejects.toThrow("requires admin access");
    for (const name of ["local", "", "A", "a_b", "-a", "a".repeat(33), "ä", "../x"]) {
      await expect(tokens.create({ name, role: "viewer" }, admin)).rejects.toThrow("needs a name");
    }
    await tokens.create(request, admin);
    await expect(tokens.create(request, admin)).rejects.toThrow("There is a token called more");
    const wrong = { name: "odd", role: "root" as "admin" };
    await expect(tokens.create(wrong, admin)).rejects.toThrow("one of viewer, operator, admin");
  });
});

describe("the installation's own token", () => {
  test("is made once, for this user alone, and makes its holder admin", async () => {
    const token = installationToken(file);
    expect(installationToken(file)).toBe(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await tokens.authenticate(token)).toEqual({ id: "local", role: "admin" });
  });

  test("is worth nothing any more when it was rotated", async () => {
    const old = installationToken(file);
    const next = rotateInstallationToken(file);
    expect(await tokens.authenticate(old)).toBeUndefined();
    expect(await tokens.authenticate(next)).toMatchObject({ role: "admin" });
    expect(readFileSync(file, "utf8")).toBe(`${next}\n`);
  });

  test("is refused when others can read it, and when the file holds something else", () => {
    installationToken(file);
    chmodSync(file, 0o644);
    expect(() => installationToken(file)).toThrow("Other users can read");
    chmodSync(file, 0o600);
    writeFileSync(file, "");
    expect(() => installationToken(file)).toThrow("mandate token rotate");
  });
});
