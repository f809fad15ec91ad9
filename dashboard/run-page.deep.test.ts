import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { initRepository } from "../src/testing/git-workspace.test-support.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const profiles = [
  testProfile("lead", { tools: ["delegate_task", "write_file"] }),
  testProfile("clerk", {
    tools: ["write_file"],
    toolRules: [{ tool: "write_file", action: "ask" }],
  }),
  testProfile("scribe", { tools: ["write_file"] }),
];

const report = `# Tides

- [x] **High** at six
- [ ] Low

| Port | Height |
|:--|--:|
| Brest | 12 |

\`\`\`ts
const tide = "low";
\`\`\`

[The table](https://tides.example/table) and ![a pixel](https://evil.example/p.png)
`;

let file = "";

const model: Script = ({ caller, messages }) => {
  const last = messages.at(-1);
  const write = (content: string) => {
    return { calls: [{ tool: "write_file", input: { path: "guide.md", content } }] };
  };
  if (caller.task.includes("hang")) return { fault: "hang" };
  if (caller.profile === "clerk") {
    return last?.role === "tool" ? { text: `Heard: ${last.text}` } : write("one\ntwo\n");
  }
  if (caller.profile === "scribe") {
    if (last?.role !== "tool") return write("theirs\n");
    // A person changes the same file before its changes are merged.
    writeFileSync(file, "ours\n");
    return { text: "Written." };
  }
  if (last?.role !== "tool" && caller.task.includes("guide")) {
    const input = { profile: "scribe", task: "Write the guide" };
    return { calls: [{ tool: "delegate_task", input }] };
  }
  return { text: report };
};

const open = (): Promise<TestEngine> => openEngine({ profiles, model });

describe("the page of a run", { timeout: 120_000 }, () => {
  it("shows the result rendered, loads nothing from elsewhere, and continues by a reply", async () => {
    await using engine = await open();
    const { runId } = await engine.run({ task: "Say the tides", profile: "lead" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link(`/runs/${runId}`));
    const result = page.getByRole("region", { name: "Result" });
    await result.getByRole("heading", { name: "Tides" }).waitFor();
    await result.getByRole("cell", { name: "Brest" }).waitFor();
    await result.getByRole("img", { name: "done" }).waitFor();
    const table = result.getByRole("link", { name: "The table" });
    expect(await table.getAttribute("rel")).toContain("noreferrer");
    expect(await page.locator("main img").count()).toBe(0);
    expect([await findBarriers(page), await overflow(page)]).toEqual([[], 0]);
    if (shots) await page.screenshot({ path: join(shots, "result.png") });
    await result.getByRole("button", { name: "Raw" }).click();
    await result.getByText("- [x] **High** at six").waitFor();
    await page.getByLabel("Reply").fill("And tomorrow?");
    await page.getByLabel("Reply").press("Enter");
    await page.waitForURL((url) => /\/runs\/r/.test(url.pathname) && !url.pathname.endsWith(runId));
    await page.getByRole("heading", { name: "And tomorrow?" }).waitFor();
    await page.getByRole("button", { name: "Run again" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(runId));
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("shows the change that an approval is about, and takes a rejection with its reason by keys", async () => {
    await using engine = await open();
    const started = await engine.start({
      task: "Write",
      profile: "clerk",
      workspace: engine.workspace,
    });
    const { link, server } = await serve(engine, opened.files);
    const address = link(`/runs/${started.runId}`);
    const { page, context, faults } = await openPage(opened.browser, address);
    const change = page.getByRole("region", { name: "Change" });
    await change.getByText("guide.md").waitFor();
    await change.getByText("two").waitFor();
    if (shots) await page.screenshot({ path: join(shots, "approval.png") });
    expect(await findBarriers(page)).toEqual([]);
    const reason = page.getByLabel("Reason, for the agent (optional)");
    // A key that comes too soon after the question is not an answer to it.
    await expect
      .poll(
        async () => {
          await page.keyboard.press("n");
          return reason.count();
        },
        { timeout: 45_000 },
      )
      .toBe(1);
    await reason.fill("it is late");
    await reason.press("Enter");
    await started.result;
    const [answered] = ofType(await engine.events(started.runId), "agent.answered");
    expect(answered?.payload.answer).toBe("no, because it is late");
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("marks kept changes, and every open page follows a merge made on another one", async () => {
    await using engine = await open();
    file = join(engine.workspace, "guide.md");
    initRepository(engine.workspace, { "guide.md": "a guide\n" });
    const { events, runId } = await engine.run({
      task: "Write the guide",
      profile: "lead",
      workspace: engine.workspace,
    });
    const scribe = ofType(events, "agent.subagent_created").find(
      ({ payload }) => payload.profile === "scribe",
    )?.sub_agent_id;
    const { link, server } = await serve(engine, opened.files);
    const run = await openPage(opened.browser, link(`/runs/${runId}`));
    await run.page.getByText("1 with kept changes").waitFor();
    const watching = await openPage(opened.browser, link(`/delegations/${scribe}`));
    await watching.page.getByRole("button", { name: "Merge" }).waitFor();
    if (shots) await run.page.screenshot({ path: join(shots, "kept.png") });
    await run.page.getByRole("link", { name: `Review ${scribe}` }).click();
    writeFileSync(file, "a guide\n");
    await run.page.getByRole("button", { name: "Merge" }).click();
    const dialog = run.page.getByRole("dialog");
    await dialog.getByText(`Merge 1 file (+1 −1) into ${engine.workspace}`).waitFor();
    await dialog.getByRole("button", { name: "Merge" }).click();
    for (const { page } of [run, watching]) {
      await expect
        .poll(() => page.getByRole("button", { name: /Merge|Discard/ }).count(), {
          timeout: 45_000,
        })
        .toBe(0);
    }
    expect(readFileSync(file, "utf8")).toBe("theirs\n");
    await run.page.goto(`${server.url}/runs/${runId}`);
    await run.page.getByRole("region", { name: "Result" }).waitFor();
    expect(await run.page.getByText("kept changes").count()).toBe(0);
    expect([...run.faults, ...watching.faults]).toEqual([]);
    await run.context.close();
    await watching.context.close();
    await server.close(100);
  });

  it("sends a message to an agent at work, and stops the run", async () => {
    await using engine = await open();
    const hung = await engine.start({ task: "hang about", profile: "lead" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link(`/runs/${hung.runId}`));
    await page.getByLabel("Message to an agent").fill("Look at the lights too");
    await page.getByLabel("Message to an agent").press("Enter");
    await page.getByText(`Sent to ${hung.delegationId}`).waitFor();
    const sent = ofType(await engine.events(hung.runId), "agent.message_sent");
    expect(sent.map(({ payload }) => payload.message)).toEqual(["Look at the lights too"]);
    await page.getByRole("button", { name: "Stop…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/Let sub-agents finish/).check();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Stop the run" }).click();
    await page.locator("main header").getByText("Cancelled").waitFor();
    await hung.result;
    await page.goto(`${server.url}/delegations/${hung.delegationId}?tab=requests`);
    await page.getByRole("treegrid", { name: "Model calls" }).getByText("scripted").click();
    await page.getByRole("region", { name: "Prompt" }).getByText("hang about").last().waitFor();
    expect([await findBarriers(page), await overflow(page)]).toEqual([[], 0]);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});
