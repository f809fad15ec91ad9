import { describe, expect, it } from "vitest";
import { scriptedModel } from "../../../models/scripted/scripted-model.ts";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { openApi, refusal } from "./api.test-support.ts";

const options: EngineOptions = {
  profiles: [testProfile("writer", { tools: [] }), testProfile("asker", { tools: ["ask_user"] })],
  model({ caller, messages }) {
    const last = messages.at(-1);
    if (caller.profile === "asker" && last?.role === "user") {
      return { calls: [{ tool: "ask_user", input: { message: "Which?" } }] };
    }
    return { text: `said: ${last?.text ?? ""}` };
  },
};

describe("sessions over HTTP", () => {
  it("continue with another model on request", async () => {
    const other = scriptedModel(() => ({ text: "the other model" }));
    await using api = await openApi({ ...options, models: { other } });
    const first = await api.client.startRun({ task: "hello", profile: "writer", wait: 20_000 });
    const sessionId = first.delegationId;
    const say = (modelOverride: string) =>
      api.client.continueSession({ sessionId, message: "again", modelOverride, wait: 20_000 });
    expect((await say("other/one")).result?.result).toBe("the other model");
    // An empty name means that none is given.
    expect((await say("")).result?.result).toBe("said: again");
  });

  it("are listed, named, continued and exported", async () => {
    await using api = await openApi(options);
    const first = await api.client.startRun({ task: "hello", profile: "writer", wait: 20_000 });
    const sessionId = first.delegationId;
    const next = await api.client.continueSession({ sessionId, message: "again", wait: 20_000 });
    expect(next.runId).not.toBe(first.runId);
    expect(next.result?.result).toBe("said: again");
    const { items } = await api.client.listSessions();
    expect(items).toMatchObject([{ id: next.delegationId, runs: 2, status: "completed" }]);
    const renamed = await api.client.renameSession({ sessionId: next.runId, title: "Greetings" });
    expect(renamed).toEqual({ sessionId: next.delegationId, title: "Greetings" });
    const session = await api.client.getSession({ sessionId: next.delegationId });
    expect(session).toMatchObject({ title: "Greetings", problems: [] });
    expect(session.context?.runIds).toEqual([first.runId, next.runId]);
    const messages = [];
    for (let cursor: string | undefined; ; ) {
      const page = await api.client.listMessages({
        delegationId: next.delegationId,
        limit: 2,
        cursor,
      });
      messages.push(...page.items);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(messages).toHaveLength(session.entries);
    const said = messages.flatMap((entry) => (entry.kind === "person" ? [entry.text] : []));
    expect(said).toEqual(["hello", "again"]);
    const exported = await api.client.exportSession({ sessionId: next.delegationId });
    expect(exported.text).toMatch(/^# Greetings\n/);
    const jsonl = await api.client.exportSession({ sessionId, format: "jsonl" });
    const records = jsonl.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).record);
    expect(new Set(records)).toEqual(new Set(["session", "contract", "prompt", "event"]));
    const viewer = await api.as("viewer");
    const mine = await viewer.exportSession({ sessionId, format: "jsonl" });
    expect(jsonl.text).toContain("You are writer.");
    expect(mine.text).not.toContain("You are writer.");
    expect(await refusal(viewer.continueSession({ sessionId, message: "x" }))).toBe(
      "403 forbidden",
    );
    const unknown = api.client.getSession({ sessionId: "123456" });
    expect(await refusal(unknown)).toBe("404 unknown-delegation");
  });

  it("have an inbox in which each reader has a place of their own", async () => {
    await using api = await openApi(options);
    await api.client.startRun({ task: "hello", profile: "writer", wait: 20_000 });
    const asked = await api.client.startRun({ task: "ask", profile: "asker" });
    await expect
      .poll(async () => (await api.client.listInbox({ openOnly: true })).items.length, {
        timeout: 45_000,
      })
      .toBe(1);
    const inbox = await api.client.listInbox();
    expect(inbox.unread).toBe(inbox.items.length);
    const ids = inbox.items.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((one, other) => other - one));
    const paged: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await api.client.listInbox({ limit: 1, cursor });
      paged.push(...page.items.map(({ id }) => id));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(ids);
    const [latest = 0] = ids;
    const viewer = await api.as("viewer");
    expect(await viewer.markInboxRead({ upTo: latest })).toEqual({ seen: latest, unread: 0 });
    expect((await api.client.listInbox()).unread).toBe(ids.length);
    const kinds = (await api.client.listInbox({ kinds: ["ask", "run"] })).items;
    expect(kinds.map(({ kind }) => kind)).toEqual(["ask", "run"]);
    const [open] = (await api.client.listInbox({ runId: asked.runId, openOnly: true })).items;
    await api.client.answerAsk({ askId: open?.ask?.id ?? "", text: "this" });
    expect((await api.client.waitFor(asked.runId)).result?.result).toContain("this");
    expect((await api.client.listInbox({ openOnly: true })).items).toEqual([]);
  });
});
