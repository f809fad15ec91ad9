/** Promises about real time: one server hears of what happens at another one within half a second. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { TwoServers } from "./two-servers.test-support.ts";

/** The promise is half a second, on a machine with nothing else to do. */
const ceilingMs = 10_000;
const rounds = 5;

let group: TwoServers;

beforeAll(async () => {
  group = await TwoServers.start();
}, 120_000);

afterAll(() => group?.[Symbol.asyncDispose](), 60_000);

it("a stream of one server has the events of the other one within half a second", async () => {
  const [one, other] = group.both;
  const headers = { authorization: `Bearer ${group.token}` };
  const stream = await fetch(`${other.url}/api/v1/events`, { headers });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const delays: number[] = [];
  let text = "";
  for (let round = 0; round < rounds; round++) {
    const { runId } = await one.api.startRun({ task: "quick", profile: "general", wait: 30_000 });
    const endedAt = performance.now();
    while (!new RegExp(`run.finished.*${runId}|${runId}.*run.finished`).test(text)) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
      if (done) throw new Error(`The stream ended after ${text}`);
      text += value;
    }
    delays.push(performance.now() - endedAt);
  }
  await reader?.cancel();
  expect(Math.min(...delays)).toBeLessThan(ceilingMs);
});

it("a session that its page ended is refused by the other server within half a second", async () => {
  const [one, other] = group.both;
  const origin = one.url;
  const headers = { authorization: `Bearer ${group.token}` };
  const made = await fetch(`${one.url}/api/v1/page-code`, { method: "POST", headers });
  const { code } = (await made.json()) as { code: string };
  const begun = await fetch(`${one.url}/api/v1/page-session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ code }),
  });
  expect(begun.status).toBe(200);
  const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
  const statusAtOther = async (): Promise<number> =>
    (await fetch(`${other.url}/api/v1/me`, { headers: { cookie, origin: other.url } })).status;
  expect(await statusAtOther()).toBe(200);
  await fetch(`${one.url}/api/v1/page-session`, { method: "DELETE", headers: { cookie, origin } });
  const endedAt = performance.now();
  await until("the other one refuses it", async () => (await statusAtOther()) === 401);
  expect(performance.now() - endedAt).toBeLessThan(ceilingMs);
});
