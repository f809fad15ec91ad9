import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageLimit } from "../contracts/usage-limit.ts";
import type { Store } from "../ports/store.ts";
import { dropDatabase, freshDatabase } from "../testing/postgres.test-support.ts";
import { about, StoredRun } from "../testing/stored-run.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";

const folder = mkdtempSync(join(tmpdir(), "mandate-usage-"));
let url: string;

beforeAll(async () => {
  url = await freshDatabase();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  sqlite: async () =>
    new SqliteStore({ path: join(folder, "mandate.db"), synchronous: "normal", artifacts: null }),
  postgres: () => PostgresStore.open({ url }),
};

const dollar = 1e9;
const request = (delegationId: string, number: number, cost = dollar, provider = "openai") => ({
  ...{ delegationId, request: number, provider, queue: "default", tokens: 100, cost },
});

describe.each(Object.keys(stores))("usage of limits on %s", (name) => {
  const open = () => stores[name]?.() as Promise<Store>;

  it("is counted once by processes that ask at the same moment, and never beyond a quota", async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const limits: readonly UsageLimit[] = [
      { scope: "tenant", costPerDay: 20 * dollar, requestsPerMinute: 1000 },
      { scope: "provider/openai", concurrency: 15 },
    ];
    const ids = Array.from({ length: 30 }, (_, index) =>
      (index % 2 === 0 ? one : other).newDelegationId(),
    );
    const admissions = await Promise.all(
      ids.map((id, index) => (index % 2 === 0 ? one : other).usage?.admit(request(id, 1), limits)),
    );
    expect(admissions.filter((each) => each?.is === "admitted")).toHaveLength(15);
    const refusals = admissions.filter((each) => each?.is !== "admitted");
    expect(new Set(refusals.map((each) => each?.is))).toEqual(new Set(["later"]));
    const used = await other.usage?.usageOf(["tenant", "provider/openai", "provider/google"]);
    expect(used?.get("provider/openai")).toMatchObject({ open: 15, requests: 15, tokens: 1500 });
    expect(used?.get("provider/google")).toMatchObject({ open: 0, requests: 0 });
    expect(used?.get("tenant")).toMatchObject({ held: 15 * dollar, spent: 0 });
    // A repeated request replaces what is held for it, also in another process.
    const [first = ""] = ids.filter((_, index) => admissions[index]?.is === "admitted");
    expect(await other.usage?.admit(request(first, 1, 2 * dollar), limits)).toEqual({
      is: "admitted",
    });
    expect((await one.usage?.usageOf(["tenant"]))?.get("tenant")?.held).toBe(16 * dollar);
    await Promise.all([one.close(), other.close()]);
  });

  it("is released by the events of a settlement and of a close, whichever process writes them", async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const limits: readonly UsageLimit[] = [{ scope: "tenant", costPerDay: 1000 * dollar }];
    const before = (await one.usage?.usageOf(["tenant"]))?.get("tenant");
    const run = await StoredRun.start(one);
    const child = await run.child();
    const settles = { request: 1, reserved: 100, prompt: 30, completion: 10, cost: 0.25 };
    await other.usage?.admit(request(child, 1, 3 * dollar, "mistral"), limits);
    await run.append(about(child, "agent.budget_reserved", { request: 1, tokens: 100 }));
    await run.append(about(child, "agent.budget_settled", settles));
    const after = (await other.usage?.usageOf(["tenant"]))?.get("tenant");
    expect((after?.held ?? 0) - (before?.held ?? 0)).toBe(0);
    expect((after?.spent ?? 0) - (before?.spent ?? 0)).toBe(0.25 * dollar);
    const mistral = (await one.usage?.usageOf(["provider/mistral"]))?.get("provider/mistral");
    expect(mistral).toMatchObject({ open: 0, requests: 1, tokens: 40 });
    // Admitted, and closed before it was sent.
    const stopped = await run.child();
    await other.usage?.admit(request(stopped, 1, 5 * dollar), limits);
    const cause = { code: "cancelled", text: "enough" } as const;
    await run.append(
      about(stopped, "agent.subagent_failed", { code: "cancelled", cause, error: "enough" }),
      about(stopped, "agent.subagent_closed", {
        ...{
          sub_agent_id: stopped,
          step_idx: 0,
          final_status: "failed",
          close_reason: "cancelled",
        },
        seal: {
          ...{ summary: "", output_hash: null, turns: 0, tool_calls: 0, attempts: 1, served: [] },
          usage: { prompt: 0, completion: 0, cost: 0 },
        },
      }),
    );
    expect((await one.usage?.usageOf(["tenant"]))?.get("tenant")?.held).toBe(before?.held);
    await Promise.all([one.close(), other.close()]);
  });
});
