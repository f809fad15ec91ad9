import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openEngine, type TestEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const profiles = [testProfile("worker", { tools: [] })];

async function openHarbour(): Promise<TestEngine> {
  const engine = await openEngine({ profiles, model: ({ caller }) => `I read: ${caller.task}` });
  for (const path of [
    "src/tides.ts",
    "src/tide-table.ts",
    "docs/tides guide.md",
    "node_modules/tides/index.js",
    "<img src=x onerror=alert(1)>.ts",
  ]) {
    const file = join(engine.workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  }
  return engine;
}

describe("the composer", { timeout: 60_000 }, () => {
  it("mentions files by keys: arrows, Enter, Tab, Escape", async () => {
    await using engine = await openHarbour();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const field = page.getByLabel("Task or command");
    const files = page.getByRole("listbox", { name: "Files" });
    await field.click();
    await page.keyboard.type("Compare @tid");
    await files.getByRole("option").first().waitFor();
    await expect.poll(() => files.getByRole("option").count(), { timeout: 45_000 }).toBe(3);
    expect(await files.getByText("node_modules").count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
    if (shots) await page.screenshot({ path: join(shots, "mentions.png") });
    await page.keyboard.press("Enter");
    expect(await field.inputValue()).toBe("Compare @src/tides.ts ");
    await page.keyboard.type("with @guide");
    await files.getByText("tides guide.md").waitFor();
    await page.keyboard.press("Tab");
    const text = 'Compare @src/tides.ts with @"docs/tides guide.md" ';
    await expect.poll(() => field.inputValue(), { timeout: 45_000 }).toBe(text);
    // In the middle of the text, and the second one by an arrow.
    await page.keyboard.press("Home");
    await page.keyboard.type("@tide ");
    await expect.poll(() => field.inputValue(), { timeout: 45_000 }).toBe(`@tide ${text}`);
    await page.keyboard.press("ArrowLeft");
    await files.getByRole("option").nth(1).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect
      .poll(() => field.inputValue(), { timeout: 45_000 })
      .toMatch(/^@src\/tide-table\.ts Compare/);
    // Escape leaves the text alone; then Enter sends.
    await page.keyboard.press("End");
    await page.keyboard.type("@img");
    await files.getByText("<img src=x onerror=alert(1)>.ts").waitFor();
    await page.keyboard.press("Escape");
    await files.waitFor({ state: "hidden" });
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/r[0-9a-f]+$/);
    await page.getByText("I read: @src/tide").first().waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("mentions files by touch on a phone", async () => {
    await using engine = await openHarbour();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"), {
      viewport: { width: 320, height: 640 },
      hasTouch: true,
      isMobile: true,
    });
    const field = page.getByLabel("Task or command");
    await field.tap();
    await page.keyboard.type("See @table");
    const option = page.getByRole("option", { name: "tide-table.ts" });
    await option.waitFor();
    if (shots) await page.screenshot({ path: join(shots, "mentions-320.png") });
    expect(await overflow(page)).toBe(0);
    expect((await option.boundingBox())?.height).toBeGreaterThanOrEqual(32);
    await option.tap();
    expect(await field.inputValue()).toBe("See @src/tide-table.ts ");
    // The keyboard of the phone stays where it is.
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Task or command");
    await page.getByRole("button", { name: "Start run" }).tap();
    await page.waitForURL(/\/runs\/r[0-9a-f]+$/);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("completes commands as before, and says what they replied", async () => {
    await using engine = await openHarbour();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const field = page.getByLabel("Task or command");
    await field.click();
    await page.keyboard.type("/hel");
    await page.getByRole("listbox", { name: "Commands" }).getByText("/help").waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => field.inputValue(), { timeout: 45_000 }).toBe("/help ");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("/agents").first().waitFor();
    expect(await field.inputValue()).toBe("");
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("keeps what was refused, and what is being written while one looks elsewhere", async () => {
    await using engine = await openHarbour();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const field = page.getByLabel("Task or command");
    await field.fill("/agents register @clerk worker");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Run command" }).click();
    await page.getByRole("status").getByText("/agents register").first().waitFor();
    expect(await field.inputValue()).toBe("/agents register @clerk worker");
    await field.fill("Look at the tides");
    await page.getByLabel("Agent", { exact: true }).selectOption("worker");
    await page.getByRole("link", { name: "Inbox" }).click();
    await page.getByText("Nothing to read").waitFor();
    await page.getByRole("link", { name: "Runs" }).click();
    await expect.poll(() => field.inputValue(), { timeout: 45_000 }).toBe("Look at the tides");
    expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("worker");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.waitForURL(/\/runs\/r[0-9a-f]+$/);
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("grid", { name: "Runs" }).waitFor();
    expect(await field.inputValue()).toBe("");
    expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("");
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});

describe("consent to a folder", { timeout: 60_000 }, () => {
  it("is asked before the first run, and is changed and forgotten under System", async () => {
    await using engine = await openEngine({
      consent: "given",
      profiles: [testProfile("writer", { tools: ["write_file"] })],
      model: ({ messages }) =>
        messages.length > 1
          ? "Written."
          : { calls: [{ tool: "write_file", input: { path: "note.txt", content: "hello" } }] },
    });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    const field = page.getByLabel("Task or command");
    const dialog = page.getByRole("dialog");
    await page.getByLabel("Agent", { exact: true }).selectOption("writer");
    await field.fill("Write a note");
    await field.press("Enter");
    await dialog.getByText("Agents have not worked in this folder before").waitFor();
    await dialog.getByText(engine.workspace).waitFor();
    expect(await dialog.getByRole("button", { name: "Start run" }).isDisabled()).toBe(true);
    expect([await findBarriers(page), await overflow(page)]).toEqual([[], 0]);
    if (shots) await page.screenshot({ path: join(shots, "consent.png") });
    // Closing the question grants nothing, and loses nothing.
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await field.inputValue()).toBe("Write a note");
    expect(await engine.store.listRuns({})).toEqual([]);
    await field.press("Enter");
    await dialog.getByLabel(/Read-only/).check();
    await dialog.getByRole("button", { name: "Start run" }).click();
    await page.getByRole("region", { name: "Result" }).getByText("Written.").waitFor();
    expect(existsSync(join(engine.workspace, "note.txt"))).toBe(false);

    await page.goto(`${server.url}/system?tab=folders`);
    const row = page.getByRole("row").filter({ hasText: engine.workspace });
    await row.getByText("Read-only").waitFor();
    await row.getByRole("button", { name: "Change…" }).click();
    await dialog.getByLabel(/In a copy/).check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await row.getByText("In a copy").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await row.getByRole("button", { name: "Forget" }).click();
    await row.getByText("Not yet").waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });
});
