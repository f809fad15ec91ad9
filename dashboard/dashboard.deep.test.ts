import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const lead = testProfile("lead", { tools: ["delegate_task"] });
const worker = testProfile("worker", { tools: [] });

/** A lead that hands its task to three workers at once, each of which takes a moment. */
const team = {
  version: 1 as const,
  replies: [
    {
      when: { profile: "lead", turn: 1 },
      text: "Three parts do not depend on each other.",
      calls: ["the tides", "the berths", "the guide"].map((part) => ({
        tool: "delegate_task",
        input: { profile: "worker", task: `Look at ${part}` },
      })),
    },
    { when: { profile: "lead" }, latency_ms: 200, text: "All three reported: {{last}}" },
    { latency_ms: 400, text: "I looked into: {{task}}" },
  ],
};

describe("the dashboard", { timeout: 60_000 }, () => {
  it("opens by a code, starts a run, and shows how it ends", async () => {
    await using engine = await openEngine({ profiles: [lead, worker], model: team });
    const { link, server } = await serve(engine, opened.files);
    const address = link();
    const { page, context, faults } = await openPage(opened.browser, address);
    await page.getByText("No runs yet").waitFor();
    expect(page.url()).toBe(`${server.url}/overview`);
    await page.getByLabel("Agent").selectOption("lead");
    await page.getByLabel("Task or command").fill("Prepare the release of the harbour");
    await page.getByLabel("Task or command").press("Enter");
    await page.getByRole("heading", { name: "Prepare the release" }).waitFor();
    const tree = page.getByRole("treegrid", { name: "Delegations" });
    await tree.getByText("Waits for 3 of 3").waitFor();
    expect(await tree.getByRole("row").count()).toBe(5);
    await page.getByText("run succeeded").first().waitFor();
    await tree.getByText("Done").nth(3).waitFor();

    await page.getByText("Look at the tides").first().click();
    await page.getByText("Only worker").waitFor();
    await page.getByText("finished its work").first().click();
    await page.getByText("output hash").waitFor();

    await page.keyboard.press("g");
    await page.keyboard.press("r");
    const list = page.getByRole("grid", { name: "Runs" });
    await list.getByText("Done").waitFor();
    // Another browser has no cookie, and a code of another server says so.
    const stranger = await openPage(opened.browser, `${server.url}/#code=${"A".repeat(25)}`);
    await stranger.page.getByText("This link belongs to another server").waitFor();
    await stranger.page.getByText("mandate serve --link").waitFor();
    expect([...faults, ...stranger.faults]).toEqual([]);
    await stranger.context.close();
    await context.close();
    await server.close(100);
  });

  it("shows what anybody wrote as text, whatever it is", async () => {
    const attacks = [
      `<img src=x onerror=alert(1)>`,
      `<script>alert(1)</script>`,
      `"><svg/onload=alert(1)>`,
      `javascript:alert(1)//`,
      `\u202egnp.exe \u0000\u001b[31m {{constructor.constructor('alert(1)')()}}`,
    ];
    const evil = attacks.join("\n");
    const long = "x".repeat(1_000_000);
    const profiles = [testProfile("stranger", { tools: [] })];
    await using engine = await openEngine({ profiles, model: () => ({ text: `${evil}${long}` }) });
    const [profile] = profiles;
    const { runId } = await engine.run({ task: evil, profile: profile?.name ?? "" });
    await engine.run({ task: `${evil}${long}`, profile: "general" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    await page.goto(`${server.url}/runs/${runId}`);
    await page.getByRole("treegrid").getByText("stranger").waitFor();
    await page.getByText("finished its work").click();
    const all = page.getByRole("button", { name: /Show all \(1\.0 MB\)/ });
    await all.first().click();
    await page.getByRole("button", { name: "Show less" }).waitFor();
    expect(await page.locator("img, script:not([src]), [onerror], [onmouseover]").count()).toBe(0);
    const text = await page.locator("main").innerText();
    expect(text).toContain("\\u{202e}");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
    expect(text).not.toMatch(/[\u0000\u001b\u202e]/);
    expect(await overflow(page)).toBe(0);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("has no barriers in either theme, and fits a phone", async () => {
    await using engine = await openEngine({ profiles: [lead, worker], model: team });
    const { runId } = await engine.run({ task: "Prepare the release", profile: "lead" });
    await engine.run({ task: "Compare the guide with the code", profile: "worker" });
    const { link, server } = await serve(engine, opened.files);
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1360, 360]) {
        const viewport = { width, height: 760 };
        const { page, context, faults } = await openPage(opened.browser, link("/runs"), {
          colorScheme,
          viewport,
        });
        await page.getByText("Compare the guide").first().waitFor();
        await look("runs");
        await page.keyboard.press("?");
        await page.getByRole("dialog").waitFor();
        await look("keys");
        await page.keyboard.press("Escape");
        await page.goto(`${server.url}/runs/${runId}`);
        await page.getByText("Look at the guide").first().waitFor();
        await look("run");
        if (width === 360) {
          await page.getByRole("tab", { name: "Timeline" }).click();
          await page.getByRole("grid", { name: "Timeline" }).press("End");
          await page.keyboard.press("Enter");
          await page.getByText("outcome").waitFor();
          await look("timeline");
        }
        expect(faults).toEqual([]);
        await context.close();

        async function look(name: string): Promise<void> {
          const what = `${name} ${colorScheme} ${width}`;
          if (shots) {
            mkdirSync(shots, { recursive: true });
            await page.screenshot({ path: join(shots, `${what.replaceAll(" ", "-")}.png`) });
          }
          expect([what, await findBarriers(page)]).toEqual([what, []]);
          expect([what, await overflow(page)]).toEqual([what, 0]);
        }
      }
    }
    await server.close(100);
  });

  it("goes on after the server was started again, and misses nothing", async () => {
    await using engine = await openEngine({ profiles: [lead, worker], model: team });
    const first = await serve(engine, opened.files);
    const { port } = first.server;
    const { page, context, faults } = await openPage(opened.browser, first.link("/runs"));
    const { runId } = await engine.run({ task: "Before", profile: "worker" });
    await page.getByText("Before").waitFor();
    await first.server.close(100);
    await page.getByText("No connection to the server.").waitFor();
    const missed = await engine.run({ task: "In between", profile: "lead" });
    const second = await serve(engine, opened.files, { port });
    // The session is still valid: the page continues by itself.
    await page.getByText("In between").waitFor();
    await engine.run({ task: "Afterwards", profile: "worker" });
    await page.getByText("Afterwards").waitFor();
    const list = page.getByRole("grid", { name: "Runs" });
    await expect.poll(() => list.getByText("Done").count(), { timeout: 45_000 }).toBe(3);
    await list.getByText("In between").click();
    await page.getByRole("treegrid").getByText("Look at the berths").waitFor();
    await page.getByLabel("Every event").check();
    const { length } = await engine.events(missed.runId);
    await page.getByText(`${length} of ${length}`).waitFor();
    expect(runId).not.toBe(missed.runId);
    expect(faults).toEqual([]);
    await context.close();
    await second.server.close(100);
  });
});
