import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { AccessTokens } from "../src/control/access/access-tokens.ts";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { Inbox } from "../src/sessions/inbox.ts";
import { openEngine, type TestEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { findBarriers, openPage, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();

const evil = `<img src=x onerror=alert(1)>"><svg/onload=alert(1)> \u202egnp.exe\u001b[31m`;
const evilName = "stranger";

const profiles = [
  testProfile("harbour-lead", {
    description: "Plans the work, and asks when something is unclear.",
    tools: ["delegate_task", "ask_user"],
  }),
  testProfile("surveyor", { description: "Looks at one thing closely.", tools: [] }),
  testProfile("keeper", {
    description: "Writes into the log, with approval.",
    tools: ["memory_save"],
    toolRules: [{ tool: "memory_save", action: "ask" }],
  }),
  testProfile("archivist", {
    description: "Writes down what to remember.",
    tools: ["memory_save"],
  }),
  testProfile(evilName, { description: evil, tools: [] }),
];

/** Whoever leads asks a person first; the archivist remembers; the keeper needs approval. */
const model: Script = ({ caller, messages }) => {
  const last = messages.at(-1);
  const usage = { prompt: 1200, completion: 340 };
  if (last?.role !== "user") return { text: `That is settled: ${last?.text ?? ""}`, usage };
  switch (caller.profile) {
    case "harbour-lead":
      return {
        calls: [
          { tool: "ask_user", input: { message: `Which pier first?\n${"…more. ".repeat(60)}` } },
        ],
        usage,
      };
    case "keeper":
    case "archivist":
      return {
        calls: [{ tool: "memory_save", input: { text: caller.task, tags: ["tides"] } }],
        usage,
      };
    default:
      return { text: caller.profile === evilName ? evil : `I looked into: ${caller.task}`, usage };
  }
};

const open = (): Promise<TestEngine> => openEngine({ profiles, model });

async function untilAsked(engine: TestEngine, count: number): Promise<void> {
  await expect
    .poll(async () => (await new Inbox(engine.store).open()).length, { timeout: 45_000 })
    .toBe(count);
}

async function cancelAll({ engine }: TestEngine): Promise<void> {
  for (const { id } of engine.liveRuns) await engine.cancel(id, "the end");
}

/** How much wider the page is than its window. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - innerWidth");

describe("the other pages", { timeout: 120_000 }, () => {
  it("answers a question and an approval in place, and marks as read what was seen", async () => {
    await using engine = await open();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/inbox"));
    await page.getByText("Nothing to read").waitFor();
    const asking = await engine.start({ task: "Repair the pier", profile: "harbour-lead" });
    // Nobody reloads anything: both arrive by themselves.
    const question = page.getByRole("article", { name: "harbour-lead asks", exact: true });
    await question.getByText("Which pier first?").waitFor();
    await expect
      .poll(() => question.getByText(/\d:\d\d left/).count(), { timeout: 45_000 })
      .toBe(1);
    await question.getByText("…more. …more.").waitFor();
    await question.getByLabel("Your answer").fill("The western one");
    await question.getByRole("button", { name: "Answer" }).click();
    expect((await asking.result).result).toContain("The western one");
    await question.waitFor({ state: "detached" });

    const approving = await engine.start({ task: "Read the log", profile: "keeper" });
    const approval = page.getByRole("article", { name: "keeper asks for approval" });
    await approval.getByRole("button", { name: "Reject…" }).click();
    await approval.getByRole("button", { name: "Reject", exact: true }).click();
    await approving.result;
    const [refusal] = (await engine.events(approving.runId)).filter(
      ({ type }) => type === "agent.answered",
    );
    expect(refusal?.payload).toMatchObject({ answer: "no", by: "person" });

    const list = page.getByRole("grid", { name: "Notices" });
    await list.getByText("Run succeeded: Read the log").waitFor();
    expect(await list.getByRole("img", { name: "New" }).count()).toBe(4);
    await page.getByRole("button", { name: "Mark all as read" }).click();
    await page.getByText("All read").waitFor();
    expect(await list.getByRole("img", { name: "New" }).count()).toBe(0);
    await page.getByLabel("Kind of notice").selectOption("answer");
    await list.getByText(/^keeper was answered/).waitFor();
    await expect.poll(() => list.getByRole("row").count(), { timeout: 45_000 }).toBe(2);
    await list.getByText(/^keeper was answered/).click();
    await page.waitForURL(/\/delegations\/[0-9a-f]+$/);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("notifies on request only, of questions that come while somebody looks elsewhere", async () => {
    await using engine = await open();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/runs"));
    // A browser that writes down what it was asked, in a window that nobody looks at.
    await page.addInitScript(`
      window.told = [];
      window.Notification = class {
        static permission = "default";
        static async requestPermission() {
          told.push("permission");
          return (this.permission = "granted");
        }
        constructor(title, { body }) { told.push(title + ": " + body); }
      };
      document.hasFocus = () => false;
    `);
    const told = (): Promise<readonly string[]> => page.evaluate("told");
    await page.goto(`${server.url}/inbox`);
    await page.getByText("Nothing to read").waitFor();
    await engine.start({ task: "Read the log", profile: "keeper" });
    await page.getByRole("article", { name: "keeper asks for approval" }).waitFor();
    expect(await told()).toEqual([]);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("button", { name: "Notifications on" }).waitFor();
    // Notifications come on every page, and only for new asks.
    await page.getByRole("link", { name: "Costs" }).click();
    await engine.start({ task: "Repair the pier", profile: "harbour-lead" });
    await expect.poll(told, { timeout: 45_000 }).toHaveLength(2);
    expect((await told())[1]).toMatch(/^harbour-lead asks: Which pier first/);
    await cancelAll(engine);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("offers viewers nothing that the server would refuse", async () => {
    await using engine = await open();
    const by = { id: "ann", role: "admin" } as const;
    await engine.control.plane.pin("global", "surveyor", {}, by);
    const { delegationId } = await engine.run({ task: "Look at the tides", profile: "surveyor" });
    await engine.run({ task: "Low water at six", profile: "archivist" });
    await engine.start({ task: "Read the log", profile: "keeper" });
    const { server } = await serve(engine, opened.files);
    const tokens = new AccessTokens(engine.store, join(engine.home, "tokens", "local"));
    const { token } = await tokens.create({ name: "bob", role: "viewer" }, by);
    const address = `${server.url}/inbox#code=${server.pages.createCode(token).code}`;
    const { page, context, faults } = await openPage(opened.browser, address);
    await page.getByText("You can read this question; operators answer it.").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await page.goto(`${server.url}/agents`);
    await page.getByRole("button", { name: "Show as JSON" }).click();
    await page.getByText("Operators edit it; you can only look.").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
    await page.getByRole("tab", { name: "Pins" }).click();
    // A viewer pins for themselves, and for nobody else.
    const places = page.getByLabel("Applies to");
    await places.waitFor();
    expect(await places.locator("option").count()).toBe(1);
    expect(await page.getByRole("button", { name: /Remove/ }).count()).toBe(0);
    await page.goto(`${server.url}/sessions?session=${delegationId}`);
    await page.getByText("I looked into").first().waitFor();
    expect(await page.getByRole("button", { name: /Rename|Send/ }).count()).toBe(0);
    await page.goto(`${server.url}/system?tab=memory`);
    await page.getByText("Low water at six").waitFor();
    expect(await page.getByRole("button", { name: /Forget|Promote/ }).count()).toBe(0);
    await cancelAll(engine);
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("edits the registry, shows what is wrong at its line, and settles a conflict", async () => {
    await using engine = await open();
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/agents"));
    await page.getByText("No handles yet").waitFor();
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    const editor = page.getByRole("textbox", { name: "The registry as JSON" });
    const save = page.getByRole("button", { name: "Save" });
    const entry = (agentId: string, profileId: string) => ({
      agentId,
      profileId,
      description: "Works.",
    });
    const textOf = (...agents: object[]) => JSON.stringify({ version: 1, agents }, null, 2);

    await editor.fill('{\n  "version": 1,\n  "agents": [}\n}');
    await save.click();
    await page.getByRole("button", { name: "line 3" }).waitFor();
    await editor.fill(textOf(entry("@lead", "harbour-lead"), entry("@Lost", "nobody")));
    await save.click();
    await page.getByText("agents[1].profileId").waitFor();
    await page.getByText('there is no profile "nobody"').waitFor();
    await page.getByRole("button", { name: "line 11" }).click();
    expect(await page.evaluate("getSelection().toString()")).toContain('"profileId": "nobody"');
    await editor.fill(textOf(entry("@lead", "harbour-lead")));
    await save.click();
    await page.getByText("Saved as version 1.").waitFor();

    // Somebody else is faster.
    const other = { id: "ann", role: "operator" } as const;
    await editor.fill(textOf(entry("@lead", "surveyor")));
    await engine.control.plane.register(entry("@survey", "surveyor"), other);
    await save.click();
    const conflict = page.getByRole("region", { name: /It was changed in between/ });
    await conflict.getByText("version 2").waitFor();
    await conflict.getByText('"agentId": "@survey"').waitFor();
    if (shots) await page.screenshot({ path: join(shots, "conflict.png") });
    expect(await findBarriers(page)).toEqual([]);
    await conflict.getByRole("button", { name: "Keep mine" }).click();
    expect(await editor.inputValue()).toBe(textOf(entry("@lead", "surveyor")));
    await save.click();
    await page.getByText("Saved as version 3.").waitFor();

    await editor.fill(textOf());
    await engine.control.plane.register(entry("@archive", "archivist"), other);
    await page.getByText(/version 4 was saved in between/).waitFor();
    await save.click();
    await page.getByRole("button", { name: "Take theirs" }).click();
    expect(await editor.inputValue()).toContain("@archive");
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("row", { name: /@archive/ }).waitFor();

    await page.getByRole("tab", { name: "Pins" }).click();
    await page.getByLabel("Agent", { exact: true }).selectOption("surveyor");
    await page.getByLabel("Applies to").selectOption("global");
    await page.getByRole("button", { name: "Pin", exact: true }).click();
    await page.getByText("(the global pin)").waitFor();
    await page.getByRole("button", { name: /Remove the global pin/ }).click();
    await page.getByText(/No pin applies to you/).waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("goes on with a session, renames it, and gives it as a file", async () => {
    await using engine = await open();
    await engine.run({ task: "Look at the tides", profile: "surveyor" });
    const { link, server } = await serve(engine, opened.files);
    const { page, context, faults } = await openPage(opened.browser, link("/sessions"));
    await page.getByRole("link", { name: /Look at the tides/ }).click();
    const log = page.getByRole("log");
    await log.getByText("I looked into: Look at the tides").waitFor();
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel(/^Title/).fill("Tides of June");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Tides of June" }).waitFor();
    await page.getByLabel("Message").fill("And the berths?");
    await page.getByLabel("Message").press("Enter");
    await log.getByText("And the berths?").first().waitFor();
    await log
      .getByText(/I looked into/)
      .nth(1)
      .waitFor();
    for (const [name, ending] of [
      ["Markdown", "md"],
      ["JSONL", "jsonl"],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: `Export as ${name}` }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(
        new RegExp(`^tides-of-june-[0-9a-f]+\\.${ending}$`),
      );
      expect(readFileSync(await download.path(), "utf8")).toContain("And the berths?");
    }
    expect(faults).toEqual([]);
    await context.close();
    await server.close(100);
  });

  it("have no barriers in either theme, fit a phone, and show hostile text as text", async () => {
    await using engine = await open();
    const by = { id: "ann", role: "operator" } as const;
    const description = 'Writes <img src=x onerror=alert(1)> and "quotes".';
    for (const [agentId, profileId] of [
      ["@lead", "harbour-lead"],
      ["@evil", evilName],
    ] as const) {
      await engine.control.plane.register(
        { agentId, profileId, description, tags: ["<i>tag</i>", "harbour"] },
        by,
      );
    }
    await engine.control.plane.pin("global", evilName, {}, by);
    await engine.run({ task: evil, profile: evilName });
    await engine.run({ task: `${evil} remember`, profile: "archivist" });
    const { delegationId } = await engine.run({ task: "Look at the tides", profile: "surveyor" });
    await engine.start({ task: evil, profile: "harbour-lead" });
    await engine.start({ task: "Read the log", profile: "keeper" });
    await untilAsked(engine, 2);
    const { link, server } = await serve(engine, opened.files);
    const profile = encodeURIComponent(evilName);
    const places = [
      ["inbox", "/inbox", "keeper asks for approval"],
      ["agents", "/agents", "@evil"],
      ["profiles", `/agents?tab=profiles&profile=${profile}`, "usable"],
      ["pins", "/agents?tab=pins", "Runs without an agent use"],
      ["trust", "/agents?tab=waiting", "Nothing waits"],
      ["sessions", `/sessions?session=${delegationId}`, "I looked into"],
      ["costs", "/costs?by=profile", evilName],
      ["costs-day", "/costs", "Prompt"],
      ["system", "/system", "Enforcement on this machine"],
      ["models", "/system?tab=models", "Providers"],
      ["memory", "/system?tab=memory", "remember"],
    ] as const;
    for (const [colorScheme, width] of [
      ["light", 1360],
      ["dark", 360],
    ] as const) {
      const { page, context, faults } = await openPage(opened.browser, link("/costs"), {
        colorScheme,
        viewport: { width, height: 760 },
      });
      for (const [name, address, text] of places) {
        await page.goto(`${server.url}${address}`);
        await page.getByText(text).locator("visible=true").first().waitFor();
        const what = `${name} ${colorScheme} ${width}`;
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: join(shots, `${what.replaceAll(" ", "-")}.png`) });
        }
        expect([what, await findBarriers(page)]).toEqual([what, []]);
        expect([what, await overflow(page)]).toEqual([what, 0]);
        const alive = page.locator("main :is(img, script, [onerror], [onload], [onmouseover])");
        expect([what, await alive.count()]).toEqual([what, 0]);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
        expect(await page.locator("main").innerText()).not.toMatch(/[\u001b\u202e]/);
      }
      await page.goto(`${server.url}/agents`);
      await page.getByRole("button", { name: "Edit as JSON" }).click();
      await page.getByRole("textbox", { name: "The registry as JSON" }).waitFor();
      if (shots) await page.screenshot({ path: join(shots, `editor-${colorScheme}-${width}.png`) });
      expect(await findBarriers(page)).toEqual([]);
      expect(faults).toEqual([]);
      await context.close();
    }
    await server.close(100);
    await cancelAll(engine);
  });
});
