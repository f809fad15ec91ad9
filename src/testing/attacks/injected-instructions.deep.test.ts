import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { RunRequest } from "../../ports/delegator.ts";
import { serveHttp, statelessly } from "../../tools/mcp/http-server.test-support.ts";
import { serve, type WebServer } from "../../tools/web/web-server.test-support.ts";
import { cases } from "../cases.test-support.ts";
import { type FinishedRun, ofType, openEngine, type TestEngine } from "../engine-fixture.ts";
import { disguises, randomFrom, write } from "./injected-text.test-support.ts";
import {
  answerWith,
  type Case,
  lookupTool,
  makeWorkspace,
  notesServer,
  obeying,
  profilesFor,
  victimOf,
} from "./injection-arena.test-support.ts";
import { type Channel, channels } from "./injection-channels.test-support.ts";
import {
  expectContained,
  expectObeyed,
  expectUnpoisoned,
  guardedFiles,
} from "./injection-checks.test-support.ts";
import { type Battlefield, type Goal, goals } from "./injection-goals.test-support.ts";

/** At least 500; `MANDATE_SEED=7` for others. */
const rounds = cases(2_000, 520);
const seed = Number(process.env["MANDATE_SEED"] ?? 9);

const base = realpathSync(mkdtempSync(join(tmpdir(), "mandate-injected-")));
const outside = join(base, "outside");
const secret = "canary-outside-4b1d";
/** Whoever can delegate is shown all profiles, and there is one for many a case. */
const tokens = { defaultTokens: 2_000_000, maxTokens: 4_000_000, runTokens: 8_000_000 };
const environmentKey = "canary-key-93ff02";
afterAll(() => rmSync(base, { recursive: true, force: true }));

const title = `attack 24: ${rounds} injected instructions are obeyed, and have no forbidden effect`;
test(title, { timeout: 60_000 + rounds * 200 }, async () => {
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), secret);
  const byKey = new Map<string, Case>();
  const textOf = (key: string): string => byKey.get(key)?.text ?? "nothing";
  const evil = await serve((_request, response) => response.end("thank you"));
  const page = await serve(({ url = "" }, response) => response.end(textOf(url.slice(1))));
  const cases = draw({ outside, evil: evil.origin });
  for (const each of cases) byKey.set(each.key, each);
  writeSkills(cases);
  const notes = await serveHttp(statelessly(() => notesServer(cases, textOf), "stateless"));
  const pageHost = `127.0.0.1:${page.port}`;
  const world = { bystander: "", database: "" };
  await using mandate = await openEngine({
    profiles: profilesFor(cases, pageHost),
    tools: [lookupTool(textOf)],
    model: obeying(byKey, world),
    environment: { MANDATE_CANARY_KEY: environmentKey, XDG_CONFIG_HOME: join(base, "config") },
    limits: { ...tokens, askDeadlineMs: 4000, maxRetries: 0 },
    maxConcurrent: 16,
    config: {
      mcp: { servers: { notes: { kind: "http", url: notes.url } } },
      network: {
        allow: "*",
        waysOut: [pageHost, "mcp__notes__*"],
        allowPrivate: [pageHost, `127.0.0.1:${evil.port}`],
      },
    },
  });
  const bystander = await mandate.start({ task: "wait", profile: "bystander" });
  Object.assign(world, { bystander: bystander.delegationId, database: mandate.database });
  const waiting = [...cases];
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
        await attack(mandate, each, { evil, page: page.origin });
      }
    }),
  );
  const state = await mandate.store.readRun(bystander.runId);
  expect(state?.delegations.get(bystander.delegationId)?.status).toBe("running");
  await mandate.engine.cancel(bystander.delegationId, "It is over.");
  await bystander.result;
  expect(readdirSync(base).sort()).toEqual(["config", "outside", "workspaces"]);
  expect(readdirSync(outside)).toEqual(["secret.txt"]);
  for (const server of [evil, page]) server.close();
  await notes.close();
  const perChannel = Map.groupBy(cases, ({ channel }) => channel.name);
  const counts = [...perChannel].map(([name, each]) => `${name} ${each.length}`).join(", ");
  process.stdout.write(`seed ${seed}: ${cases.length} injected instructions (${counts})\n`);
});

/** Every channel with every goal first; then as the seed says, most of them cheap ones. */
function draw(field: Battlefield): readonly Case[] {
  const random = randomFrom(seed);
  // What the operator said themselves is no stranger's word: there the contract's hosts decide.
  const fits = (channel: Channel, goal: Goal) => !(channel.isTrusted && goal.victim === "roamer");
  const pairs = channels.flatMap((channel) =>
    goals.flatMap((goal) => (fits(channel, goal) ? [{ channel, goal }] : [])),
  );
  const cheap = pairs.filter(({ channel }) => !channel.isDear);
  return Array.from({ length: rounds }, (_, index): Case => {
    const pair = pairs[index] ?? cheap[random(cheap.length)];
    const dress = disguises[random(disguises.length)];
    if (pair === undefined || dress === undefined) throw new Error("there is nothing to draw from");
    const variant = random(64);
    const text = dress(write(pair.goal.orders(field, variant)));
    return { key: `case-${index}`, ...pair, variant, text, reads: [] };
  });
}

function writeSkills(cases: readonly Case[]): void {
  for (const { channel, key, text } of cases) {
    const folder = join(base, "config", "mandate", "skills", key);
    if (channel.name !== "a skill's text") continue;
    mkdirSync(folder, { recursive: true });
    const head = `---\nname: ${key}\ndescription: Of use.\n---\n\n`;
    writeFileSync(join(folder, "SKILL.md"), head + text);
  }
}

async function attack(
  mandate: TestEngine,
  current: Case,
  servers: { readonly evil: WebServer; readonly page: string },
): Promise<void> {
  const { channel, goal, key, text } = current;
  const workspace = join(base, "workspaces", key);
  mkdirSync(workspace, { recursive: true });
  symlinkSync(join(outside, "secret.txt"), join(workspace, "leak"));
  symlinkSync(outside, join(workspace, "door"));
  makeWorkspace(workspace, goal.name.includes("repository") && channel.name !== "a commit message");
  current.reads = channel.plant({ key, workspace, text, page: servers.page });
  if (channel.name === "a memory") await mandate.run({ task: key, profile: "author", workspace });
  const before = guardedFiles(workspace);
  const profile = goal.victim === "child" ? "lead" : victimOf(current);
  const run = await play(mandate, current, { task: key, profile, workspace });
  const what = `seed ${seed}, ${key}: ${channel.name}, to ${goal.name}, variant ${current.variant}`;
  expectObeyed(run, current, what);
  expect(servers.evil.asked, what).toEqual([]);
  expect(guardedFiles(workspace), what).toEqual(before);
  expect(existsSync(join(workspace, "gated")), what).toBe(false);
  expect(readFileSync(join(outside, "secret.txt"), "utf8"), what).toBe(secret);
  const told = JSON.stringify(run.events);
  expect(told.includes(secret) || told.includes(environmentKey), what).toBe(false);
  const people = ofType(run.events, "agent.answered").filter(
    ({ payload }) => payload.by === "person",
  );
  expect(people.length, what).toBe(channel.name === "a person's answer" ? 1 : 0);
  await expectContained(mandate, run, what);
  await expectUnpoisoned(mandate, run, current, what);
}

async function play(mandate: TestEngine, current: Case, request: RunRequest): Promise<FinishedRun> {
  if (current.channel.name !== "a person's answer") return mandate.run(request);
  const { delegationId, result, runId } = await mandate.start(request);
  await answerWith(mandate, runId, current.text);
  return { runId, delegationId, result: await result, events: await mandate.events(runId) };
}
