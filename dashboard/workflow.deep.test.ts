import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workflowToRun } from "../src/application/workflow-runs.ts";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { DeltaHub } from "../src/surfaces/http/streams/sse-deltas.ts";
import { openEngine } from "../src/testing/engine-fixture.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const script = `export const meta = {
  name: "review", description: "Reviews files, then votes",
  phases: [{ title: "Review" }, { title: "Vote" }],
}
phase("Review")
const found = await parallel(["tides", "pilots"].map((n) => () => agent(n, { label: "look at " + n })))
log(found.filter(Boolean).length + " looked at")
phase("Vote")
const votes = await parallel([1, 2].map((n) => () => agent("vote " + n, { label: "voter " + n })))
return votes.filter(Boolean).join(", ")
`;

describe("a workflow on the page of its run", { timeout: 120_000 }, () => {
  it("shows phases and what agents write, skips an agent, and resumes with what was replayed", async () => {
    const fails = new Set(["pilots"]);
    const stalls = new Set(["vote 2"]);
    const model: Script = ({ caller: { task } }) => {
      if (fails.has(task)) return { fault: "rejected" };
      if (stalls.has(task)) return { fault: "stall-mid-stream", partial: "I am for it, because" };
      return `did ${task}`;
    };
    const deltas = new DeltaHub();
    await using engine = await openEngine({
      ...{ model, onDelta: deltas.hear },
      limits: { maxRetries: 0 },
    });
    const { link, server } = await serve(engine, opened.files, { deltas });
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    await page.getByText("Live").waitFor({ state: "attached" });
    const request = await workflowToRun(engine, { script });
    const first = await engine.start({ ...request, workspace: engine.workspace });
    await page.getByRole("link", { name: /review: Reviews files/ }).click();

    const list = page.getByRole("grid", { name: "Workflow" });
    const row = (text: string) => list.getByRole("row").filter({ hasText: text });
    await list
      .getByRole("row")
      .filter({ hasText: /^Review1 done, 1 failed/ })
      .waitFor();
    await row("look at pilots").getByText("Failed: null").waitFor();
    await row("voter 1").getByText("Done").waitFor();
    const now = page.getByRole("region", { name: "Working now" });
    await now.getByText("I am for it, because").waitFor();
    await now.getByText("Vote · general").waitFor();
    expect([await findBarriers(page), await overflow(page)]).toEqual([[], 0]);
    if (shots) await page.screenshot({ path: join(shots, "workflow.png") });
    await row("voter 2").getByRole("button", { name: "Skip" }).click();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Skip this agent" }).click();
    await row("voter 2").getByText("Skipped: null").waitFor();
    await page.getByRole("region", { name: "Result" }).getByText("did vote 1").waitFor();
    await page.getByRole("tab", { name: /Tree/ }).click();
    await page.getByRole("row", { name: /look at tides Review · general/ }).waitFor();
    await page.getByRole("grid", { name: "Timeline" }).getByText("voter 1").first().waitFor();

    fails.clear();
    stalls.clear();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(first.runId));
    await row("look at tides").getByText("Replayed").waitFor();
    await row("look at pilots").getByText("ran: it had failed").waitFor();
    await row("voter 2").getByText("ran: it had failed").waitFor();
    await page.getByRole("region", { name: "Result" }).getByText("did vote 2").waitFor();
    await page.getByRole("link", { name: `Resumes ${first.delegationId}` }).waitFor();
    expect([await findBarriers(page), faults]).toEqual([[], []]);
    await context.close();
    await server.close(100);
  });
});
