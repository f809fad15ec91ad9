import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { initialize, postModern } from "../mcp/http/raw-client.test-support.ts";
import type { RoundRobin } from "./round-robin.test-support.ts";
import { type Served, TwoServers } from "./two-servers.test-support.ts";

let group: TwoServers;
let balancer: RoundRobin;
let token: string;
const json = { "content-type": "application/json" };

beforeAll(async () => {
  group = await TwoServers.start();
  ({ balancer, token } = group);
}, 120_000);

afterAll(() => group?.[Symbol.asyncDispose](), 60_000);

const both = () => group.both;

async function openPage(
  bearer: string,
): Promise<{ readonly code: string; exchange(): Promise<Response> }> {
  const made = await fetch(`${balancer.url}/api/v1/page-code`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}` },
  });
  const { code, url } = (await made.json()) as { code: string; url: string };
  // Not that of the server that happened to answer.
  expect(url.startsWith(`${balancer.url}/#code=`)).toBe(true);
  return {
    code,
    exchange: () =>
      fetch(`${balancer.url}/api/v1/page-session`, {
        method: "POST",
        headers: { ...json, origin: balancer.url },
        body: JSON.stringify({ code }),
      }),
  };
}

describe("two servers behind one address", { timeout: 60_000 }, () => {
  it("are one to a page: a code works once, its session everywhere, until it is ended", async () => {
    const [one] = both();
    const named = await one.api.createToken({ name: "board", role: "viewer" });
    const { exchange } = await openPage(named.token);
    const begun = await exchange();
    expect(begun.status).toBe(200);
    for (let time = 0; time < 2; time++) expect((await exchange()).status).toBe(401);
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
    const headers = { cookie, origin: balancer.url };
    const served = new Set<number>();
    for (let time = 0; time < 4; time++) {
      const me = await fetch(`${balancer.url}/api/v1/me`, { headers });
      expect([me.status, await me.json()]).toMatchObject([200, { id: "board", role: "viewer" }]);
      served.add(balancer.last);
    }
    expect([...served].toSorted()).toEqual([0, 1]);

    // A session that its page ended is ended everywhere; another one of the same token is not.
    const second = await (await openPage(named.token)).exchange();
    const kept = {
      cookie: second.headers.get("set-cookie")?.split(";")[0] ?? "",
      origin: balancer.url,
    };
    const left = await fetch(`${balancer.url}/api/v1/page-session`, { method: "DELETE", headers });
    expect(left.status).toBe(204);
    const statuses = async (sent: Record<string, string>) => [
      (await fetch(`${balancer.url}/api/v1/me`, { headers: sent })).status,
      (await fetch(`${balancer.url}/api/v1/me`, { headers: sent })).status,
    ];
    await expect.poll(() => statuses(headers), { timeout: 45_000 }).toEqual([401, 401]);
    expect(await statuses(kept)).toEqual([200, 200]);
    await one.api.revokeToken({ name: "board" });
    expect(await statuses(kept)).toEqual([401, 401]);
  });

  it("tell of each other's events, in one order", async () => {
    const [one, other] = both();
    const authorization = `Bearer ${token}`;
    const stream = await fetch(`${other.url}/api/v1/events`, { headers: { authorization } });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { runId } = await one.api.startRun({ task: "quick", profile: "general", wait: 20_000 });
    let text = "";
    while (!new RegExp(`run.finished.*${runId}|${runId}.*run.finished`).test(text)) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
      if (done) throw new Error(`the stream ended after ${text}`);
      text += value;
    }
    const numbers = [...text.matchAll(/^id: (\d+)/gm)].map(([, id]) => Number(id));
    expect(numbers).toEqual(numbers.toSorted((first, second) => first - second));
    await reader?.cancel();
    // Who lost the stream of one goes on at the other, where it was.
    const again = await fetch(`${one.url}/api/v1/events`, {
      headers: { authorization, "last-event-id": String((numbers.at(-1) ?? 1) - 1) },
    });
    const rest = again.body?.pipeThrough(new TextDecoderStream()).getReader();
    const heard: string[] = [];
    while (heard.filter((line) => line.startsWith("id: ")).length < 2) {
      heard.push(...((await rest?.read())?.value ?? "").split("\n"));
    }
    expect(heard).toContain(`id: ${numbers.at(-1)}`);
    await rest?.cancel();
  });

  it("do once what both are asked under one key", async () => {
    const send = async (url: string) => {
      const answer = await fetch(`${url}/api/v1/runs`, {
        method: "POST",
        headers: { ...json, authorization: `Bearer ${token}`, "idempotency-key": "the same" },
        body: JSON.stringify({ task: "quick, and once", profile: "general" }),
      });
      return { status: answer.status, body: (await answer.json()) as { runId?: string } };
    };
    const at = both().map(({ url }) => url);
    const first = await Promise.all([...at, ...at, ...at].map(send));
    const repeated = await Promise.all(at.map(send));
    const all = [...first, ...repeated];
    // Who came while the first one was under way is told to ask again.
    expect(all.every(({ status }) => status < 300 || status === 409)).toBe(true);
    expect(repeated.every(({ status }) => status < 300)).toBe(true);
    expect(new Set(all.flatMap(({ body }) => body.runId ?? [])).size).toBe(1);
    const { items } = await both()[1].api.listRuns({});
    expect(items.filter(({ title }) => title === "quick, and once")).toHaveLength(1);
  });

  it("cancel and answer for each other: a run that one works on ends at the other's word", async () => {
    const [one, other] = both();
    const { runId } = await one.api.startRun({ task: "slow", profile: "general" });
    await expect
      .poll(async () => (await other.api.getHealth({})).openRuns, { timeout: 45_000 })
      .toBeGreaterThan(0);
    expect((await one.api.getHealth({})).liveRuns).toBe(1);
    await other.api.cancelRun({ runId, reason: "enough" });
    const ended = await one.api.getRun({ runId, wait: 10_000 });
    expect(ended).toMatchObject({ state: "cancelled", closeReason: "cancelled" });
    await expect
      .poll(async () => (await one.api.getHealth({})).liveRuns, { timeout: 45_000 })
      .toBe(0);
  });

  it("know each other, and so does whoever asks one of them", async () => {
    const [one, other] = both();
    const { engine, items } = await other.api.listWorkers({});
    expect(engine).toBe("local");
    const alive = items.filter(({ isAlive }) => isAlive);
    expect(alive.map(({ pid }) => pid)).toEqual([one.child.pid, other.child.pid]);
    expect(alive.map(({ isSelf }) => isSelf)).toEqual([false, true]);
    expect(await other.api.listQueues({})).toEqual({ items: [], isComplete: true });
    const metrics = await fetch(`${one.url}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await metrics.text()).toContain('mandate_workers{state="alive",takes_work="no"} 2');
  });

  it("serve MCP at either, with sessions and without them", async () => {
    const [one, other] = both();
    const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
    const at = ({ url }: Served) => ({ url: `${url}/mcp`, token });
    const created = await postModern(
      at(one),
      1,
      "tools/call",
      { name: "delegate_task", arguments: { profile: "researcher", task: "unhurried" } },
      capabilities,
    );
    expect(created.message).toMatchObject({ result: { resultType: "task" } });
    const taskId = String(created.message.result?.["taskId"]);
    await expect
      .poll(
        async () =>
          (await postModern(at(other), 2, "tasks/get", { taskId }, capabilities)).message.result,
        { timeout: 45_000 },
      )
      .toMatchObject({ status: "completed" });
    const headers = await initialize(at(one));
    const list = { jsonrpc: "2.0", id: 5, method: "tools/list", params: {} };
    const ask = ({ url }: Served) =>
      fetch(`${url}/mcp`, {
        method: "POST",
        headers: {
          ...{ ...json, ...headers, authorization: `Bearer ${token}` },
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(list),
      });
    expect((await ask(one)).status).toBe(200);
    expect((await ask(other)).status).toBe(200);
    const sent = { ...headers, authorization: `Bearer ${token}` };
    const ended = await fetch(`${other.url}/mcp`, { method: "DELETE", headers: sent });
    expect(ended.status).toBe(200);
    expect((await ask(one)).status).toBe(404);
  });

  it("do not start with a key that is none", async () => {
    await expect(group.startOne("too short")).rejects.toThrow(/openssl rand -base64 32/);
  });

  it("go on without each other: a page stays signed in when the server that let it in is gone", async () => {
    const [one, other] = both();
    const { code } = await openPage(token);
    const begun = await fetch(`${one.url}/api/v1/page-session`, {
      method: "POST",
      headers: { ...json, origin: one.url },
      body: JSON.stringify({ code }),
    });
    expect(begun.status).toBe(200);
    const gone = once(one.child, "exit");
    one.child.kill("SIGKILL");
    await gone;
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
    const me = await fetch(`${other.url}/api/v1/me`, { headers: { cookie, origin: other.url } });
    expect(me.status).toBe(200);
    await expect
      .poll(async () => (await other.api.listWorkers({})).items.map(({ isAlive }) => isAlive), {
        timeout: 45_000,
        interval: 200,
      })
      .toEqual([true, false]);
  });

  it("take a typed code once, from either of them, and keep its page over a restart of all", async () => {
    const pair = [await group.startOne(), await group.startOne()];
    balancer.target(pair.map(({ port }) => port));
    const named = await pair[0]?.api.createToken({ name: "wall", role: "viewer" });
    const made = await fetch(`${balancer.url}/api/v1/page-code`, {
      method: "POST",
      headers: { authorization: `Bearer ${named?.token}` },
    });
    const { shortCode } = (await made.json()) as { readonly shortCode: { readonly code: string } };
    const exchange = () =>
      fetch(`${balancer.url}/api/v1/page-session`, {
        method: "POST",
        headers: { ...json, origin: balancer.url },
        body: JSON.stringify({ code: shortCode.code }),
      });
    const begun = await Promise.all([exchange(), exchange(), exchange(), exchange()]);
    expect(begun.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
    const cookies = begun.flatMap(({ headers }) => headers.get("set-cookie") ?? []);
    const cookie = cookies[0]?.split(";")[0] ?? "";
    for (const { child } of pair) {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    }
    // A server that starts later has the same key, which no variable gave it.
    const later = await group.startOne();
    balancer.target([later.port]);
    const me = await fetch(`${balancer.url}/api/v1/me`, {
      headers: { cookie, origin: balancer.url },
    });
    expect([me.status, await me.json()]).toMatchObject([200, { id: "wall" }]);
  });
});
