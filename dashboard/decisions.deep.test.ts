import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { openEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { until } from "../src/testing/until.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("worker", { tools: [] }),
];

/** A lead that delegates once, slowly enough to be seen; whoever is told to hang does. */
const model: Script = ({ caller, messages }) => {
  if (caller.task.includes("hang")) return { fault: "hang" };
  const usage = { prompt: 1000, completion: 200 };
  if (caller.profile === "lead" && messages.at(-1)?.role === "user" && caller.turn === 1) {
    const input = { profile: "worker", task: "Look at the tides" };
    return { text: "One child is enough.", calls: [{ tool: "delegate_task", input }], usage };
  }
  return { text: `${caller.profile} heard: ${caller.task}`, latency_ms: 60, usage };
};

describe("what people decide", { timeout: 60_000 }, () => {
  it("is shown as it ended: cancelled, out of time and failed are told apart everywhere", async () => {
    await using engine = await openEngine({ profiles, model });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const list = page.getByRole("grid", { name: "Runs" });
    const stopped = await engine.start({ task: "hang until stopped", profile: "worker" });
    await list.getByText("Running").waitFor();
    await engine.engine.cancel(stopped.runId, "enough");
    // Live, and after a reload by what the server says.
    await list.getByText("Cancelled").waitFor();
    await engine.run({ task: "hang too long", profile: "worker", timeoutMs: 50 });
    await list.getByText("Timed out").waitFor();
    await page.reload();
    await list.getByText("Timed out").waitFor();
    await list.getByText("Cancelled").waitFor();
    expect(await list.getByText("Failed").count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
    if (shots) await page.screenshot({ path: join(shots, "ends.png") });
    await engine.run({ task: "Go well", profile: "worker" });
    await list.getByText("Go well").waitFor();
    await page.getByRole("button", { name: "Failed" }).click();
    await expect.poll(() => list.getByText("Go well").count(), { timeout: 45_000 }).toBe(0);
    await list.getByText("Timed out").waitFor();
    await page.getByText("1 run", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Cancelled" }).click();
    await list.getByText("hang until stopped").waitFor();
    await page.getByText("1 run", { exact: true }).waitFor();
    await page.getByRole("button", { name: "All" }).click();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog");
    await palette.getByRole("option", { name: /Cancelled hang until stopped/ }).waitFor();
    await palette.getByRole("option", { name: /Timed out hang too long/ }).click();
    await page.getByRole("heading", { name: "hang too long" }).waitFor();
    await page.locator("header").getByText("Timed out").last().waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("is seen again in a replay, which says that it is one", async () => {
    await using engine = await openEngine({ profiles, model });
    const { runId } = await engine.run({ task: "Look at the harbour", profile: "lead" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link(`/runs/${runId}`));
    const head = page.locator("main header");
    await head.getByText("Done").waitFor();
    const whole = await head.getByRole("img", { name: /tokens used/ }).getAttribute("aria-label");
    expect(whole).toMatch(/^[1-9]/);
    await page.getByRole("slider", { name: "Moment of the run" }).press("Home");
    const notice = page.getByRole("region", { name: "This is a replay" });
    await notice.getByText(/event 1 of \d+/).waitFor();
    await head.getByText("Running").waitFor();
    await head.getByRole("img", { name: /^0 of .* tokens used/ }).waitFor();
    await head.getByText("0 ms", { exact: true }).waitFor();
    expect(await page.getByRole("region", { name: "Result" }).count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
    if (shots) await page.screenshot({ path: join(shots, "replay.png") });
    await notice.getByRole("button", { name: "Back to now" }).click();
    await head.getByText("Done").waitFor();
    expect(await notice.count()).toBe(0);
    // The moment can be chosen on a phone, and is told there as well.
    await page.setViewportSize({ width: 320, height: 640 });
    await page.keyboard.press(",");
    await notice.waitFor();
    expect(await overflow(page)).toBe(0);
    if (shots) await page.screenshot({ path: join(shots, "replay-320.png") });
    await page.keyboard.press("Escape");
    await notice.waitFor({ state: "detached" });
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("begins anew from the middle: a fork from what an agent said", async () => {
    await using engine = await openEngine({ profiles, model });
    const { delegationId, runId } = await engine.run({ task: "Look", profile: "lead" });
    const { link, server } = await serve(engine, opened.files);
    const address = link(`/delegations/${delegationId}?tab=transcript`);
    const { page, context, faults } = await openPage(opened.browser, address);
    const turns = page.getByRole("button", { name: "Fork from here" });
    await expect.poll(() => turns.count(), { timeout: 45_000 }).toBe(2);
    await turns.first().click();
    const dialog = page.getByRole("dialog", { name: `Fork ${runId} from here?` });
    await dialog.getByLabel("Message").fill("And now the lights");
    expect(await findBarriers(page)).toEqual([]);
    if (shots) await page.screenshot({ path: join(shots, "fork.png") });
    await dialog.getByRole("button", { name: "Fork" }).click();
    await page.waitForURL((url) => /\/runs\//.test(url.pathname));
    await page.getByRole("heading", { name: "And now the lights" }).waitFor();
    await page.getByText(`shares 1 turn of ${runId}.`).waitFor();
    await page.getByText("lead heard: And now the lights").first().waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("trusts what came with a project, by exactly the content that is shown", async () => {
    await using first = await openEngine({ profiles, model });
    const agents = join(first.workspace, ".mandate/agents");
    mkdirSync(join(first.workspace, ".git"));
    mkdirSync(agents, { recursive: true });
    const evil = "<img src=x onerror=alert(1)> \u202eseidob";
    const text = `---\ndescription: Guest of the repository\n---\nObey ${evil}\n`;
    writeFileSync(join(agents, "guest.md"), text);
    await using engine = await first.another({ profiles, model });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/agents"));
    await page.getByRole("tab", { name: "To trust (1)" }).click();
    await page.getByRole("button", { name: "Review guest" }).click();
    await page.getByText("Obey <img src=x onerror=alert(1)> \\u{202e}seidob").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    if (shots) await page.screenshot({ path: join(shots, "trust-content.png") });
    // Somebody changes it while it is looked at: what is shown is not what there is.
    const hashOf = async (name: string): Promise<string | undefined> => {
      const answer = await page.request.get(`${server.url}/api/v1/profiles`, {
        headers: { origin: server.url },
      });
      const { waiting } = (await answer.json()) as {
        readonly waiting: readonly { readonly name: string; readonly hash: string }[];
      };
      return waiting.find((one) => one.name === name)?.hash;
    };
    const shown = await hashOf("guest");
    writeFileSync(join(agents, "guest.md"), text.replace("Obey", "Always obey"));
    await until("the registry reads it again", async () => (await hashOf("guest")) !== shown);
    await page.getByRole("button", { name: "Trust exactly this" }).click();
    await page.getByText(/it has changed, or it is trusted already/).waitFor();
    expect(engine.profiles.get("guest")).toBeUndefined();
    await page.getByRole("button", { name: "Review guest" }).click();
    await page.getByText("Always obey").waitFor();
    await page.getByRole("button", { name: "Trust exactly this" }).click();
    await page.getByText("guest is trusted.").waitFor();
    expect(engine.profiles.get("guest")?.prompt).toContain("Always obey");
    await page.getByRole("heading", { name: "Nothing waits to be trusted" }).waitFor();
    await page.getByRole("button", { name: "Stop trusting guest" }).click();
    await page.getByRole("tab", { name: "To trust (1)" }).waitFor();
    expect(engine.profiles.get("guest")).toBeUndefined();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("is not lost by a link, by going back or by closing the tab, and pins sessions by name", async () => {
    await using engine = await openEngine({ profiles, model });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    await page.getByRole("link", { name: "Agents" }).click();
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    const editor = page.getByRole("textbox", { name: "The registry as JSON" });
    await editor.fill('{ "version": 1, "agents": [ ] }');
    const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
    for (const leave of [
      () => page.getByRole("link", { name: "Costs" }).click(),
      () => page.getByRole("tab", { name: "Pins" }).click(),
      () => page.goBack(),
    ]) {
      await leave();
      await dialog.waitFor();
      expect(await findBarriers(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Back" }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await editor.inputValue()).toBe('{ "version": 1, "agents": [ ] }');
      expect(new URL(page.url()).pathname).toBe("/agents");
    }
    // The browser asks itself, in words of its own.
    const asked = page.waitForEvent("dialog");
    void page.reload().catch(() => undefined);
    await asked;
    await until("the browser has asked", () => faults.length > 0);
    expect(faults.splice(0)).toEqual(["dialog: "]);
    expect(await editor.inputValue()).toBe('{ "version": 1, "agents": [ ] }');
    await page.getByRole("link", { name: "Costs" }).click();
    await dialog.getByRole("button", { name: "Leave" }).click();
    await page.waitForURL(/\/costs$/);

    await page.goto(`${server.url}/agents?tab=pins`);
    await page.getByLabel("Agent", { exact: true }).selectOption("worker");
    await page.getByLabel("Applies to").selectOption("session");
    const pin = page.getByRole("button", { name: "Pin", exact: true });
    expect(await pin.isDisabled()).toBe(true);
    await page.getByLabel("Name of the session").fill("night watch");
    await pin.click();
    await page.getByRole("row", { name: /session local\/night watch worker/ }).waitFor();
    const session = "local/night watch";
    expect(await engine.control.plane.effectivePin({ session })).toMatchObject({
      scope: "session",
      profileId: "worker",
    });
    await page.getByRole("button", { name: "Remove the session pin of worker" }).click();
    await page.getByText("No pins").waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});
