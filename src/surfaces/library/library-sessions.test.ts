import { afterEach, expect, it } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { createMandate, type Mandate } from "./mandate.ts";

let mandate: Mandate | undefined;

afterEach(async () => {
  const report = await mandate?.verify();
  await mandate?.close();
  mandate = undefined;
  expect(report?.violations ?? []).toEqual([]);
});

const talker = {
  name: "talker",
  description: "Talks",
  capabilities: ["primary" as const],
  prompt: "You talk.",
  tools: [],
  origin: "test",
};

function open(role = "operator"): Promise<Mandate> {
  const scripted = scriptedModel(({ messages }) => `${messages.length}: ${messages.at(-1)?.text}`);
  return createMandate({
    ...{ database: ":memory:", environment: {}, scripted, profiles: [talker] },
    principal: { id: "ada", role },
  });
}

it("goes on with a session, and lists, names, reads and exports it", async () => {
  mandate = await open();
  const { sessions } = mandate;
  const first = await mandate.delegate({ profile: "talker", task: "hello" });
  const next = await sessions.continue(first.delegationId, "and now?");
  expect((await next.result).result).toBe("3: and now?");
  await sessions.rename(next.runId, "Greetings");
  expect(await sessions.list({ limit: 5 })).toMatchObject([
    { id: next.delegationId, title: "Greetings", lastMessage: "3: and now?", runs: 2 },
  ]);
  const session = await sessions.get(next.delegationId);
  expect(session.context).toMatchObject({ title: "Greetings", status: "completed" });
  expect(session.entries.filter(({ kind }) => kind === "person")).toMatchObject([
    { text: "hello" },
    { text: "and now?" },
  ]);
  let markdown = "";
  for await (const piece of sessions.export(next.delegationId)) markdown += piece;
  expect(markdown).toMatch(/^# Greetings\n[\s\S]*> and now\?/);
});

it("lets nobody name a session who may only look", async () => {
  mandate = await open("viewer");
  const { delegationId } = await mandate.delegate({ profile: "talker", task: "hello" });
  await expect(mandate.sessions.rename(delegationId, "x")).rejects.toMatchObject({
    code: "refused-by-policy",
  });
});
