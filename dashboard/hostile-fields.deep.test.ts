import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { workflowToRun } from "../src/application/workflow-runs.ts";
import type { Script } from "../src/models/scripted/scripted-model.ts";
import { Inbox } from "../src/sessions/inbox.ts";
import { renameSession } from "../src/sessions/session-records.ts";
import { openEngine, type TestEngine, testProfile } from "../src/testing/engine-fixture.ts";
import { initRepository } from "../src/testing/git-workspace.test-support.ts";
import { until } from "../src/testing/until.ts";
import { openPage, overflow, serve, twoFrames } from "./browser.test-support.ts";
import { openHostileServer } from "./hostile-server.test-support.ts";
import { hostileStrings } from "./hostile-strings.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

/**
 * A server that fills every text of its replies and events, short ones too, with what means harm: names,
 * titles, models, handles, paths, labels, phases, errors, names of files in changes. Whatever a field
 * holds, the page shows it as text. `MANDATE_HOSTILE_VISITS=211` gives each field each of the strings.
 */
const visits = Number(process.env["MANDATE_HOSTILE_VISITS"] ?? 3);
const looks = [
  ["light", 1360],
  ["dark", 390],
  ["light", 320],
  ["dark", 1360],
  ["light", 390],
  ["dark", 320],
] as const;
const opened = testBrowser();

const script = `export const meta = { name: "review", description: "Looks", phases: [{ title: "Find" }] }
phase("Find")
await parallel(["one", "FAIL", "STALL"].map((n) => () => agent(n, { label: "look at " + n })))
log("done")
`;

const model: Script = ({ caller: { profile, task }, messages }) => {
  if (task === "FAIL") return { fault: "rejected" };
  if (task === "STALL") return { fault: "stall" };
  const isFirst = messages.at(-1)?.role === "user";
  if (profile === "clerk" && isFirst) {
    return { calls: [{ tool: "write_file", input: { path: "guide.md", content: "new\n" } }] };
  }
  if (profile === "lead" && isFirst) {
    return {
      text: "I ask a scribe.",
      calls: [{ tool: "delegate_task", input: { profile: "scribe", task: "Write it" } }],
    };
  }
  if (profile === "scribe" && isFirst) {
    return {
      calls: [
        { tool: "memory_save", input: { text: "The tide is high." } },
        { tool: "write_file", input: { path: "notes.md", content: "old\n" } },
      ],
    };
  }
  return profile === "asker" && isFirst
    ? { calls: [{ tool: "ask_user", input: { message: "Which one?" } }] }
    : { text: "Done." };
};

async function openScene(): Promise<TestEngine> {
  const engine = await openEngine({
    model,
    limits: { maxRetries: 0 },
    profiles: [
      testProfile("lead", { tools: ["delegate_task", "write_file", "memory_save"] }),
      testProfile("scribe", { tools: ["write_file", "memory_save"] }),
      testProfile("asker", { tools: ["ask_user"] }),
      testProfile("clerk", {
        tools: ["write_file"],
        toolRules: [{ tool: "write_file", action: "ask" }],
      }),
    ],
  });
  const { workspace } = engine;
  initRepository(workspace, { "guide.md": "A guide.\n" });
  mkdirSync(join(workspace, ".mandate/agents"), { recursive: true });
  writeFileSync(join(workspace, ".mandate/agents/guest.md"), "---\ndescription: x\n---\nHello.\n");
  return engine;
}

it(`shows every field of every reply and event as text, in ${visits} visits`, async () => {
  await using engine = await openScene();
  const { control, store, workspace } = engine;
  const done = await engine.run({ task: "Write", profile: "lead", workspace });
  const failed = await engine.run({ task: "FAIL", profile: "lead" });
  const flow = await engine.start({ ...(await workflowToRun(engine, { script })), workspace });
  const asking = await engine.start({ task: "Ask", profile: "asker" });
  const approving = await engine.start({ task: "Change", profile: "clerk", workspace });
  await until("the questions", async () => (await new Inbox(store).open()).length === 2);
  const by = { id: "ann", role: "admin" } as const;
  await control.plane.register(
    { agentId: "@writer", profileId: "scribe", description: "Writes.", tags: ["texts"] },
    by,
  );
  await control.plane.pin("global", "scribe", {}, by);
  await renameSession(store, done.delegationId, "A name", by);
  const child = [...((await store.readRun(done.runId))?.delegations.values() ?? [])].find(
    ({ parentId }) => parentId !== null,
  );
  const { link, server } = await serve(engine, opened.files);
  await using hostile = await openHostileServer(server.url);

  const tabs = ["transcript", "changes", "requests", "calls", "contract", "evidence", "events"];
  const places = [
    ...["/overview", "/runs", "/inbox", "/agents", "/agents?tab=profiles", "/agents?tab=pins"],
    ...["/agents?tab=waiting", `/sessions?session=${done.delegationId}`, "/costs?by=profile"],
    ...["/system", "/system?tab=models", "/system?tab=folders", "/system?tab=memory"],
    ...["outcome", "workflow", "tree", "gantt", "timeline"].map(
      (view) => `/runs/${flow.runId}?view=${view}`,
    ),
    ...[done, failed, asking, approving].map(({ runId }) => `/runs/${runId}`),
    ...tabs.map((tab) => `/delegations/${child?.id}?tab=${tab}`),
    ...[asking, approving, failed].map(({ delegationId }) => `/delegations/${delegationId}`),
  ];
  const problems: string[] = [];
  for (const [colorScheme, width] of looks.slice(0, visits)) {
    const start = link().replace(server.url, hostile.url);
    const { page, context, faults } = await openPage(opened.browser, start, {
      colorScheme,
      viewport: { width, height: width < 500 ? 700 : 800 },
    });
    await page.getByText("Live").waitFor({ state: "attached" });
    for (let visit = 0; visit < Math.ceil(visits / looks.length); visit += 1) {
      for (const place of places) {
        const before = hostile.filled;
        await page.goto(hostile.url + place);
        await page.getByText("Live").waitFor({ state: "attached" });
        // The person, what waits for an answer, and what the page itself shows.
        await until("the page asks", () => hostile.filled >= before + 3);
        for (let round = 0; round < 2; round += 1) {
          await until("everything is answered", () => hostile.isIdle);
          await page.evaluate(twoFrames);
        }
        const alive = await page
          .locator(
            "body :is(img, script, iframe, object, embed, base, meta, link, style, video, audio, [onerror], [onload])",
          )
          .count();
        const doubtful = await page.evaluate(
          `[...document.links].filter((link) => link.origin !== location.origin &&
            !(/^(?:https?|mailto):$/.test(link.protocol) && link.username === "" && link.relList.contains("noreferrer"))
          ).length`,
        );
        const broken = await page.getByRole("heading", { name: "This went wrong" }).count();
        const found = { alive, doubtful, broken, wider: Math.max(await overflow(page), 0) };
        if (Object.values(found).some((count) => count !== 0)) {
          const why = broken > 0 ? await page.getByRole("alert").first().innerText() : "";
          problems.push(`${place} ${colorScheme} ${width}: ${JSON.stringify(found)} ${why}`);
        }
      }
    }
    problems.push(...faults);
    await context.close();
  }
  const counts = [...hostile.given].map(([field, texts]) => `${texts.size} ${field}`);
  if (process.env["MANDATE_HOSTILE_VISITS"] !== undefined)
    process.stdout.write(`${counts.sort().join("\n")}\n`);
  expect([...new Set(problems)]).toEqual([]);
  expect(counts.length).toBeGreaterThan(200);
  const all = new Set([...hostile.given.values()].flatMap((texts) => [...texts]));
  expect(all.size).toBe(new Set(hostileStrings).size);
  await server.close(100);
}, 7_200_000);
