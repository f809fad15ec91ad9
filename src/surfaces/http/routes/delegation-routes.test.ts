import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type EngineOptions, testProfile } from "../../../testing/engine-fixture.ts";
import { initRepository } from "../../../testing/git-workspace.test-support.ts";
import { openApi, refusal } from "./api.test-support.ts";

const secret = "hunter2-hunter2-hunter2";
const lines = Array.from({ length: 30_000 }, (_, index) => `line ${index + 1} of the report`);

const options: EngineOptions = {
  profiles: [
    testProfile("worker", {
      tools: [],
      mcpServers: [],
      servers: {
        wiki: { kind: "http", url: "http://127.0.0.1:9/mcp", headers: { "x-key": secret } },
        tool: { kind: "stdio", command: "none", env: { KEY: secret }, args: ["--token", secret] },
      },
    }),
    testProfile("asker", { tools: ["ask_user"] }),
    testProfile("panel", { tools: ["delegate_task", "ask_user"] }),
    testProfile("boss", { tools: ["delegate_task", "write_file"] }),
    testProfile("scribe", { tools: ["write_file"] }),
    testProfile("chief", { tools: ["delegate_task"], limits: { joinTokens: 200 } }),
  ],
  model({ caller, messages }) {
    const last = messages.at(-1);
    if (caller.task.includes("hang")) return { fault: "hang" };
    if (caller.task.includes("long")) {
      return { text: lines.join("\n"), usage: { prompt: 10, completion: 10 } };
    }
    if (last?.role !== "user") return { text: `done: ${last?.text ?? ""}` };
    if (caller.profile === "chief") {
      const input = { profile: "worker", task: "a long one" };
      return { calls: [{ tool: "delegate_task", input }] };
    }
    if (caller.profile === "panel") {
      const input = { profile: "asker", task: "Ask" };
      return { calls: [input, input].map((each) => ({ tool: "delegate_task", input: each })) };
    }
    if (caller.profile === "asker") {
      return { calls: [{ tool: "ask_user", input: { message: "Which one?" } }] };
    }
    if (caller.profile === "boss") {
      const input = { profile: "scribe", task: "Write a.txt" };
      return { calls: [{ tool: "delegate_task", input }] };
    }
    if (caller.profile === "scribe") {
      const input = { path: "a.txt", content: "the scribe's\n" };
      return { calls: [{ tool: "write_file", input }] };
    }
    return { text: `did: ${caller.task}` };
  },
};

describe("delegations over HTTP", () => {
  it("are shown with contract, receipt, evidence, result and what was said", async () => {
    await using api = await openApi(options);
    const { delegationId, runId } = await api.client.startRun({
      task: "dig",
      context: "in the garden",
      profile: "worker",
      maxTokens: 1e9,
      wait: 20_000,
    });
    const detail = await api.client.getDelegation({ delegationId });
    expect(detail).toMatchObject({ task: "dig", context: "in the garden", problem: null });
    expect(detail.evidence).toMatchObject({ turns: 1 });
    expect(detail.result).toMatchObject({ status: "completed", result: "did: dig" });
    expect(detail.usage.prompt + detail.usage.completion).toBe(detail.tokens);
    const receipt = detail.receipt.find(({ requested }) => requested === 1e9);
    expect(receipt?.granted).toBe(detail.cap?.tokens);
    const { items: messages } = await api.client.listMessages({ delegationId });
    expect(messages).toContainEqual(expect.objectContaining({ kind: "person", text: "dig" }));
    expect(messages).toContainEqual(expect.objectContaining({ kind: "agent", text: "did: dig" }));
    const first = await api.client.listDelegationEvents({ delegationId, limit: 3 });
    const cursor = first.nextCursor ?? "";
    const rest = await api.client.listDelegationEvents({ delegationId, cursor });
    const all = [...first.items, ...rest.items];
    const stored = await api.engine.events(runId);
    const own = stored.filter(({ sub_agent_id }) => sub_agent_id === delegationId);
    expect(all.map(({ hash }) => hash)).toEqual(own.map(({ hash }) => hash));
    expect(all[0]?.summary).toMatch(/^created as worker/);
    const after = await api.client.listRunEvents({ runId, after: stored.at(-2)?.seq });
    expect(after.items.map(({ type }) => type)).toEqual(["run.finished"]);
  });

  it("take messages while they work, once for each key, and none after their end", async () => {
    await using api = await openApi(options);
    const { delegationId, runId } = await api.client.startRun({ task: "hang", profile: "worker" });
    const message = "look at b";
    const viewer = await api.as("viewer");
    expect(await refusal(viewer.sendMessage({ delegationId, message }))).toBe("403 forbidden");
    const sent = await api.client.sendMessage({ delegationId, message });
    expect(sent).toEqual({ delegationId, messageId: expect.stringMatching(/^m/) });
    const post = (key: string, body: object) =>
      api.fetch(`/api/v1/delegations/${delegationId}/messages`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify(body),
      });
    const [first, again] = [
      await post("a-key-of-mine", { message: "and c" }),
      await post("a-key-of-mine", { message: "and c" }),
    ];
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(await again.json()).toEqual(await first.json());
    expect((await post("another-key", { message: " " })).status).toBe(400);
    const { unread } = await api.client.getDelegation({ delegationId });
    // What a program sends is not a person's word.
    expect(unread).toMatchObject([
      { messageId: sent.messageId, from: "caller", message },
      { from: "caller", message: "and c" },
    ]);
    await api.client.cancelDelegation({ delegationId });
    await api.client.waitFor(runId);
    expect(await refusal(api.client.sendMessage({ delegationId, message }))).toBe(
      "409 already-terminal",
    );
    const none = api.client.sendMessage({ delegationId: "ffffff", message });
    expect(await refusal(none)).toBe("404 unknown-delegation");
    expect((await api.client.getDelegation({ delegationId })).unread).toHaveLength(2);
    const { items } = await api.client.listMessages({ delegationId });
    expect(JSON.stringify(items)).toContain(
      `It ended before it read this message from its caller: ${message}`,
    );
    const { text } = await api.client.exportSession({ sessionId: delegationId });
    expect(text).toContain("before it read this message");
  });

  it("never tell the secrets of their servers, to nobody", async () => {
    await using api = await openApi({
      ...options,
      profiles: (options.profiles ?? []).map(({ mcpServers: _, ...profile }) => profile),
    });
    const { delegationId } = await api.client.startRun({
      task: "hang",
      profile: "worker",
    });
    const detail = await api.client.getDelegation({ delegationId });
    expect(detail.contract?.servers?.["wiki"]).toMatch(/^http: .*headers x-key/);
    expect(detail.contract?.servers?.["tool"]).toMatch(/^stdio: none .*env KEY/);
    await api.client.cancelDelegation({ delegationId });
    await api.client.waitFor(detail.runId);
    const jsonl = await api.client.exportSession({ sessionId: delegationId, format: "jsonl" });
    expect(jsonl.text).toContain('"record":"contract"');
    const viewer = await api.as("viewer");
    const told = [
      detail,
      jsonl,
      await api.client.exportSession({ sessionId: delegationId }),
      await api.client.getProfile({ profile: "worker" }),
      await viewer.getProfile({ profile: "worker" }),
      await api.client.listProfiles(),
      await api.client.getSession({ sessionId: delegationId }),
      await api.client.listRunEvents({ runId: detail.runId }),
    ];
    for (const one of told) expect(JSON.stringify(one)).not.toContain(secret);
  });

  it("are listed in pages over all runs, by run, profile and whether they are open", async () => {
    await using api = await openApi(options);
    const made: string[] = [];
    for (const task of ["one", "two", "three", "hang"]) {
      const wait = task === "hang" ? 0 : 20_000;
      const profile = task === "two" ? "scribe" : "worker";
      made.unshift((await api.client.startRun({ task, profile, wait })).delegationId);
    }
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await api.client.listDelegations({ limit: 1, cursor });
      seen.push(...page.items.map(({ delegationId }) => delegationId));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(made);
    const idsOf = async (query: Parameters<typeof api.client.listDelegations>[0]) =>
      (await api.client.listDelegations(query)).items.map(({ delegationId }) => delegationId);
    expect(await idsOf({ open: true })).toEqual([made[0]]);
    expect(await idsOf({ open: false, profile: "worker" })).toEqual([made[1], made[3]]);
    expect(await idsOf({ profile: "nobody" })).toEqual([]);
    const { runId } = await api.client.getDelegation({ delegationId: made[2] ?? "" });
    expect(await idsOf({ runId })).toEqual([made[2]]);
    expect(await refusal(api.client.listDelegations({ runId: "r123456" }))).toBe("404 unknown-run");
    const [first = ""] = made;
    expect(await refusal(api.client.getDelegationResult({ delegationId: first }))).toBe(
      "409 conflict",
    );
    await api.client.cancelDelegation({ delegationId: first });
    expect(await api.client.getDelegationResult({ delegationId: made[1] ?? "" })).toMatchObject({
      result: "did: three",
    });
  });

  it("give a long result in bounded parts, by the hash that their log names", async () => {
    await using api = await openApi(options);
    const { runId } = await api.client.startRun({ task: "go", profile: "chief", wait: 20_000 });
    const { tree } = await api.client.getRun({ runId });
    const { delegationId = "" } = tree.find(({ profile }) => profile === "worker") ?? {};
    const { artifacts } = await api.client.getDelegation({ delegationId });
    const [artifact] = artifacts;
    if (artifact === undefined) throw new Error("nothing was kept");
    const { hash } = artifact;
    const peek = await api.client.readArtifact({ delegationId, hash });
    expect(artifact.of).toBe("result");
    expect(peek).toMatchObject({ lines: 30_000, isCut: true });
    expect(peek.text).toMatch(/^line 1 of.*line 30000 of the report$/s);
    expect(peek.text.length).toBeLessThan(70_000);
    const slice = await api.client.readArtifact({ delegationId, hash, from: 29_999, lines: 5 });
    expect(slice).toMatchObject({ isCut: false });
    expect(slice.text).toBe("line 29999 of the report\nline 30000 of the report");
    const found = await api.client.readArtifact({
      delegationId,
      hash,
      search: "LINE 2999",
      lines: 2,
    });
    expect(found).toMatchObject({ isCut: true });
    expect(found.text.split("\n")).toHaveLength(2);
    const other = api.client.readArtifact({ delegationId, hash: "0".repeat(64) });
    expect(await refusal(other)).toBe("404 unknown-delegation");
  });

  it("are answered once, by whom the control log says", async () => {
    await using api = await openApi(options);
    const operator = await api.as("operator", "olga");
    const { delegationId, runId } = await operator.startRun({ task: "ask", profile: "asker" });
    await expect
      .poll(async () => (await api.client.getDelegation({ delegationId })).ask?.question, {
        timeout: 45_000,
      })
      .toBe("Which one?");
    const { ask } = await api.client.getDelegation({ delegationId });
    const askId = ask?.id ?? "";
    const viewer = await api.as("viewer");
    expect(await refusal(viewer.answerAsk({ askId, text: "no" }))).toBe("403 forbidden");
    const other = await operator.startRun({ task: "hang", profile: "worker" });
    const wrong = operator.answerDelegation({ ...other, askId, text: "no" } as never);
    expect(await refusal(wrong)).toBe("400 request-invalid");
    const foreign = { delegationId: other.delegationId, askId, text: "no" };
    expect(await refusal(operator.answerDelegation(foreign))).toBe("404 unknown-ask");
    const none = operator.answerDelegation({ delegationId: other.delegationId, text: "no" });
    expect(await refusal(none)).toBe("409 ask-closed");
    expect(await operator.answerDelegation({ delegationId, text: "the left" })).toEqual({
      askId,
      accepted: true,
    });
    const { result } = await api.client.waitFor(runId);
    expect(result?.result).toContain("the left");
    expect(await refusal(operator.answerAsk({ askId, text: "late" }))).toBe("409 ask-closed");
    expect(await refusal(operator.answerAsk({ askId: "q123456", text: "?" }))).toBe(
      "404 unknown-ask",
    );
    await operator.cancelRun({ runId: other.runId });
  });

  it("are not answered in the place of others in their run", async () => {
    await using api = await openApi(options);
    const { client } = api;
    const { delegationId: root, runId } = await client.startRun({ task: "Go", profile: "panel" });
    const openAsks = async () => {
      const { tree } = await client.getRun({ runId });
      const found = await Promise.all(
        tree.map(({ delegationId }) => client.getDelegation({ delegationId })),
      );
      return found.flatMap(({ ask, delegationId }) => (ask ? { delegationId, askId: ask.id } : []));
    };
    await expect.poll(openAsks, { timeout: 45_000 }).toHaveLength(2);
    const [one, two] = await openAsks();
    if (one === undefined || two === undefined) throw new Error("Both should ask.");
    for (const delegationId of [two.delegationId, root]) {
      const wrong = client.answerDelegation({ delegationId, askId: one.askId, text: "left" });
      expect(await refusal(wrong)).toBe("404 unknown-ask");
    }
    expect(await openAsks()).toHaveLength(2);
    for (const own of [one, two]) await client.answerDelegation({ ...own, text: "left" });
    const late = client.answerDelegation({ ...one, text: "right" });
    expect(await refusal(late)).toBe("409 ask-closed");
    await client.waitFor(runId);
  });

  it("that left work in a copy have it shown, merged or discarded", async () => {
    let file = "";
    await using api = await openApi({
      ...options,
      model(request) {
        const { caller, messages } = request;
        // While the scribe works on its copy, a person changes the same file.
        if (caller.profile === "scribe" && messages.at(-1)?.role === "tool") {
          writeFileSync(file, "the person's\n");
        }
        return typeof options.model === "function" ? options.model(request) : "";
      },
    });
    initRepository(api.engine.workspace, { "a.txt": "old\n" });
    file = join(api.engine.workspace, "a.txt");
    const { runId } = await api.client.startRun({ task: "Lead", profile: "boss", wait: 20_000 });
    const { tree } = await api.client.getRun({ runId });
    const scribe = tree.find(({ profile }) => profile === "scribe");
    expect(scribe).toMatchObject({ outcome: "failed", closeReason: "merge_conflict" });
    const delegationId = scribe?.delegationId ?? "";
    const viewer = await api.as("viewer");
    const diff = await viewer.diffDelegation({ delegationId });
    expect(diff).toMatchObject({ added: 1, removed: 1, truncated: false });
    expect(diff.text).toContain("-old\n+the scribe's\n");
    expect(await refusal(viewer.mergeDelegation({ delegationId }))).toBe("403 forbidden");
    const conflict = await api.client.mergeDelegation({ delegationId });
    expect(conflict).toMatchObject({ status: "conflict", files: ["a.txt"], copy: "kept" });
    expect(await api.client.discardDelegation({ delegationId })).toMatchObject({ status: "kept" });
    writeFileSync(file, "old\n");
    const merged = await api.client.mergeDelegation({ delegationId });
    expect(merged).toMatchObject({ status: "merged", files: ["a.txt"], sentence: null });
    expect(readFileSync(file, "utf8")).toBe("the scribe's\n");
    const gone = api.client.discardDelegation({ delegationId, deleteChanges: true });
    expect(await refusal(gone)).toBe("409 no-kept-work");
  });
});
