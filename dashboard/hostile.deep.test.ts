import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../src/contracts/exposure.ts";
import { defaultConfig } from "../src/control/config.ts";
import { type Script, scriptedModel } from "../src/models/scripted/scripted-model.ts";
import { Inbox } from "../src/sessions/inbox.ts";
import { renameSession } from "../src/sessions/session-records.ts";
import { openEngine, type TestEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { initRepository } from "../src/testing/git-workspace.test-support.ts";
import { until } from "../src/testing/until.ts";
import { defineTool } from "../src/tools/tool.ts";
import {
  findBarriers,
  openPage,
  overflow,
  serve,
  shots,
  type TestServer,
} from "./browser.test-support.ts";
import { hostileStrings } from "./hostile-strings.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

/**
 * Every field that somebody else fills, filled by somebody who means harm: markup, control
 * characters, marks that turn the direction of writing, and a line of a megabyte. On every page, in
 * both themes, down to the narrowest phone, with every dialog and menu open: nothing runs, nothing
 * is wider than the window, and nobody is shut out.
 */
const opened = testBrowser();
let engine: TestEngine;
let served: TestServer;
const ids = { run: "", liar: "", open: "", boss: "", scribe: "", spill: "", asker: "" };

const markup = `<img src=x onerror=alert(1)>"><svg/onload=alert(1)><script>alert(1)</script>`;
const controls = "\u202egnp.exe\u2066\u0000\u0007\u001b[31m\u001b]0;owned\u0007\u200f";
const evil = `${markup} ${controls} javascript:alert(1)//`;
const endless = "x".repeat(1_000_000);
/** All of them in every field that takes a long text. */
const all = `${evil}\n\n${hostileStrings.join("\n\n")}`;
const evilName = "stranger";
const longName = "n".repeat(64);
const evilFile = "<img src=x onerror=alert(1)> gnp.md";
const longFile = `${"f".repeat(200)}.md`;

const spill = defineTool({
  name: "spill",
  description: "Says more than anybody wants to read.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({ what: z.string() }),
  execute: () => `${all}${endless}`,
});

const evilModel = { model: `evil/<img/src=x/onerror=alert(1)>${"m".repeat(60)}` };

const profiles = [
  testProfile("boss", {
    model: evilModel,
    tools: ["delegate_task", "write_file", "spill", "ask_user"],
  }),
  testProfile("liar", { model: evilModel, tools: [] }),
  testProfile("scribe", { model: evilModel, tools: ["write_file"] }),
  testProfile(evilName, { model: evilModel, description: evil, tools: ["spill"], prompt: evil }),
  testProfile(longName, {
    model: evilModel,
    description: `${evil}${"d".repeat(1000)}`,
    tools: ["ask_user"],
  }),
];

const { agents, limits } = defaultConfig;

/** A task of a megabyte is many tokens. */
const spacious = {
  limits: { ...limits, runTokens: 1e9 },
  agents: {
    delegation: {
      ...agents.delegation,
      tokenBudget: { default: 1e8, max: 1e9 },
      profiles: { directory: "/nowhere" },
    },
  },
};

const usage = { prompt: 1000, completion: 100 };

const model: Script = ({ caller, messages }) => {
  // Refused for it, and its name stands in the log all the same.
  if (caller.profile === "liar")
    return { text: evil, usage, served: `evil/${markup}${"m".repeat(200)}` };
  if (messages.at(-1)?.role !== "user") return { text: `${all}${endless}`, usage };
  switch (caller.profile) {
    case "boss": {
      const task = `${evil} Write it down\n\n${all}`;
      const input = { profile: "scribe", task };
      return { text: all, calls: [{ tool: "delegate_task", input }], usage };
    }
    case "scribe":
      return {
        calls: [evilFile, longFile].map((path) => ({
          tool: "write_file",
          input: { path, content: `${all}\n${"y".repeat(100_000)}\n` },
        })),
        usage,
      };
    case evilName:
      return { calls: [{ tool: "spill", input: { what: `${all}${"z".repeat(5000)}` } }], usage };
    default:
      return { calls: [{ tool: "ask_user", input: { message: `${all}${"q".repeat(3000)}` } }] };
  }
};

beforeAll(async () => {
  engine = await openEngine({
    ...{ profiles, tools: [spill], config: spacious },
    models: { evil: scriptedModel(model) },
  });
  const { store, workspace } = engine;
  initRepository(workspace, { "guide.md": "A guide.\n" });
  mkdirSync(join(workspace, ".mandate/agents"), { recursive: true });
  writeFileSync(join(workspace, evilFile), "");
  const boss = await engine.run({ task: `${all}${endless}`, profile: "boss", workspace });
  const liar = await engine.run({ task: all, profile: "liar" });
  const created = boss.events.find(
    ({ payload, type }) =>
      type === "agent.subagent_created" && "profile" in payload && payload.profile === "scribe",
  );
  const spilled = await engine.run({
    task: evil,
    title: `${evil}${"t".repeat(400)}`,
    profile: evilName,
  });
  const answered = await engine.start({ task: evil, profile: longName });
  const inbox = new Inbox(store);
  await until("the question", async () => (await inbox.open()).length === 1);
  const [ask] = await inbox.open();
  const by = { id: "ann", role: "admin" } as const;
  await engine.engine.answer(ask?.ask?.id ?? "", `${all}`);
  await answered.result;
  const asking = await engine.start({ task: evil, profile: longName });
  await until("the question", async () => (await inbox.open()).length === 1);
  await engine.control.plane.register(
    {
      agentId: "@evil",
      profileId: evilName,
      description: evil.replaceAll(/\p{C}/gu, ""),
      tags: ["<img src=x onerror=alert(1)>"],
    },
    by,
  );
  await engine.control.plane.pin("global", evilName, {}, by);
  await engine.control.plane.pin(
    "session",
    longName,
    { session: `${"s".repeat(400)} ${markup}` },
    by,
  );
  Object.assign(ids, {
    run: boss.runId,
    liar: liar.runId,
    boss: boss.delegationId,
    scribe: created?.sub_agent_id,
    spill: spilled.delegationId,
    open: asking.runId,
    asker: asking.delegationId,
  });
  served = await serve(engine, opened.files);
  // As whoever uses the page would name a session.
  await renameSession(store, spilled.delegationId, `${markup}${"s".repeat(40)}`, by);
}, 180_000);

afterAll(async () => {
  for (const { id } of engine?.engine.liveRuns ?? []) await engine.engine.cancel(id, "the end");
  await served?.server.close(100);
  await engine?.[Symbol.asyncDispose]();
});

interface Place {
  readonly name: string;
  readonly address: () => string;
  /** What is there when the page is. */
  readonly shows: string | RegExp;
  /** What is opened on it, one after the other. */
  readonly opens?: readonly ((page: Page) => Promise<unknown>)[];
}

const press =
  (name: string | RegExp) =>
  (page: Page): Promise<void> =>
    page.getByRole("button", { name }).first().click();

const tabOf =
  (tab: string, shows: string | RegExp, ...opens: NonNullable<Place["opens"]>) =>
  (who: "boss" | "scribe" | "spill"): Place => ({
    name: `delegation ${who} ${tab}`,
    address: () => `/delegations/${ids[who]}?tab=${tab}`,
    shows,
    opens,
  });

const places: readonly Place[] = [
  {
    name: "runs",
    address: () => "/runs",
    shows: /Write|<img src=x/,
    opens: [
      (page) => page.getByLabel("Task or command").fill("Look at @"),
      (page) => page.getByRole("listbox", { name: "Files" }).waitFor(),
      (page) => page.getByLabel("Task or command").fill("/"),
      (page) => page.getByRole("listbox", { name: "Commands" }).waitFor(),
      async (page) => {
        await page.getByLabel("Task or command").fill("");
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog").getByRole("option").first().waitFor();
      },
    ],
  },
  {
    name: "run",
    address: () => `/runs/${ids.run}`,
    shows: "Result",
    opens: [
      press("Whole task"),
      press("Show all"),
      (page) => page.keyboard.press(","),
      (page) => page.keyboard.press("Escape"),
    ],
  },
  { name: "tree", address: () => `/runs/${ids.run}?view=tree`, shows: "scribe" },
  { name: "gantt", address: () => `/runs/${ids.run}?view=gantt`, shows: "critical path" },
  {
    name: "timeline",
    address: () => `/runs/${ids.run}?view=timeline`,
    shows: "run started",
    opens: [
      (page) => page.getByLabel("Every event").check(),
      async (page) => {
        await page.getByRole("grid", { name: "Timeline" }).press("Home");
        for (let row = 0; row < 6; row += 1) {
          await page.keyboard.press("Enter");
          await page.keyboard.press("ArrowDown");
        }
      },
    ],
  },
  { name: "liar", address: () => `/runs/${ids.liar}`, shows: "Another model answered" },
  {
    name: "open run",
    address: () => `/runs/${ids.open}`,
    shows: "Asks you",
    opens: [press("Stop…")],
  },
  tabOf("contract", "Permissions")("boss"),
  tabOf(
    "transcript",
    "Fork from here",
    // Rendered as Markdown, all of it.
    press(/Show all \([\d.]+ kB\)/),
    press("Fork from here"),
  )("boss"),
  tabOf("requests", /calls spill/, (page) =>
    page.getByRole("row").filter({ hasText: "calls spill" }).click(),
  )("spill"),
  tabOf("calls", "spill", (page) => page.getByRole("row").filter({ hasText: "spill" }).click())(
    "spill",
  ),
  tabOf("changes", /Changes \(2\)/)("scribe"),
  tabOf("evidence", "the agent has no say")("scribe"),
  tabOf("artifacts", /Artifacts \(\d/)("spill"),
  tabOf("events", /created as/)("spill"),
  {
    name: "inbox",
    address: () => "/inbox",
    shows: "Waiting for you",
    opens: [],
  },
  {
    name: "agents",
    address: () => "/agents",
    shows: "@evil",
    opens: [
      press("Edit as JSON"),
      (page) =>
        page.getByRole("textbox", { name: /JSON/ }).fill(`{ "a": "${markup}${"j".repeat(3000)}" }`),
      press("Save"),
      press("Search and commands"),
      (page) => page.keyboard.press("Escape"),
      (page) => page.getByRole("link", { name: "Inbox" }).click(),
      (page) => page.getByRole("dialog").getByRole("button", { name: "Leave" }).click(),
    ],
  },
  {
    name: "profile",
    address: () => `/agents?tab=profiles&profile=${encodeURIComponent(evilName)}`,
    shows: "usable",
  },
  { name: "pins", address: () => "/agents?tab=pins", shows: "the global pin" },
  { name: "trust", address: () => "/agents?tab=waiting", shows: "Nothing waits" },
  {
    name: "sessions",
    address: () => `/sessions?session=${ids.spill}`,
    shows: "spill",
    opens: [press("Rename")],
  },
  { name: "costs by profile", address: () => "/costs?by=profile", shows: "Prompt" },
  { name: "costs by model", address: () => "/costs?by=model", shows: "evil/" },
  { name: "costs by run", address: () => "/costs?by=run", shows: "Prompt" },
  { name: "system", address: () => "/system", shows: "Enforcement on this machine" },
  { name: "models", address: () => "/system?tab=models", shows: "Providers" },
  { name: "memory", address: () => "/system?tab=memory", shows: /No memories|remember/i },
  {
    name: "nowhere",
    address: () => `/${encodeURIComponent("<img src=x onerror=alert(1)>")}`,
    shows: "no such page",
  },
  {
    name: "keys",
    address: () => "/runs",
    shows: "Agents",
    opens: [(page) => page.keyboard.press("?")],
  },
];

/** What is wrong with the page as it is now, in a line each. */
async function inspect(page: Page, what: string): Promise<readonly string[]> {
  if (shots) {
    mkdirSync(shots, { recursive: true });
    await page.screenshot({ path: join(shots, `hostile-${what.replaceAll(" ", "-")}.png`) });
  }
  const alive = page.locator(
    "body :is(img, script, iframe, object, embed, base, meta, link, style, video, audio, [onerror], [onload])",
  );
  const doubtful = (await page.evaluate(
    `[...document.links].filter((link) => link.origin !== location.origin &&
      !(/^(?:https?|mailto):$/.test(link.protocol) && link.username === "" && link.relList.contains("noreferrer"))
    ).map((link) => link.href)`,
  )) as readonly string[];
  const wider = await overflow(page);
  const text = await page.locator("body").innerText();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  const unseen = /[\u0000\u0007\u001b\u200f\u202e\u2066]/.exec(text);
  return [
    ...((await alive.count()) > 0 ? ["something is alive"] : []),
    ...doubtful.map((address) => `it leads to ${address.slice(0, 80)}`),
    ...(wider > 0 ? [`it is ${wider} pixels wider than the window`] : []),
    ...(unseen ? [`it shows U+${unseen[0].charCodeAt(0).toString(16)}`] : []),
    // Between the two other widths nothing is laid out in a third way.
    ...(what.endsWith(" 390") ? [] : await findBarriers(page)),
  ].map((problem) => `${what}: ${problem}`);
}

describe("whatever anybody wrote", { timeout: 240_000 }, () => {
  it("holds more than two hundred texts that mean harm", () => {
    expect(new Set(hostileStrings).size).toBeGreaterThanOrEqual(200);
  });

  for (const [colorScheme, width] of [
    ["light", 1360],
    ["dark", 1360],
    ["light", 390],
    ["dark", 320],
  ] as const) {
    it(`is text, fits and can be read: ${colorScheme}, ${width} pixels`, async () => {
      const { page, context, faults } = await openPage(opened.browser, served.link("/runs"), {
        colorScheme,
        viewport: { width, height: width < 500 ? 700 : 800 },
      });
      await page.getByText("Live").waitFor({ state: "attached" });
      const problems: string[] = [];
      for (const { address, name, opens = [], shows } of places) {
        await page.goto(`${served.server.url}${address()}`);
        await page.getByText(shows).locator("visible=true").first().waitFor();
        problems.push(...(await inspect(page, `${name} ${colorScheme} ${width}`)));
        for (const [index, open] of opens.entries()) {
          await open(page);
          problems.push(...(await inspect(page, `${name} ${index + 1} ${colorScheme} ${width}`)));
        }
      }
      expect([...problems, ...faults]).toEqual([]);
      await context.close();
    });
  }
});
