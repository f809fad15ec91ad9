import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AccessTokens, installationToken } from "../../../control/access/access-tokens.ts";
import { isPaused } from "../../../events/run-state.ts";
import { scriptedModel } from "../../../models/scripted/scripted-model.ts";
import { createRuntime } from "../../../runtime.ts";
import { ofType } from "../../../testing/engine-fixture.ts";
import {
  openProcessFleet,
  type ProcessFleet,
} from "../../../testing/process-fleet.test-support.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import { until } from "../../../testing/until.ts";
import { Desk } from "../../cli/desk.test-support.ts";
import { MandateClient } from "../../client/mandate-client.ts";
import { createApp } from "../app.ts";
import { routes } from "./all-routes.ts";

const origin = "http://127.0.0.1:4747";
const patience = { timeout: 90_000 };

let desk: Desk;
let fleet: ProcessFleet;
let client: MandateClient;

beforeEach(async () => {
  desk = new Desk();
  const profiles = { general: "---\nonParentInterrupt: pause\n---\n" };
  fleet = await openProcessFleet({ workers: 2, atOnce: 2, profiles });
  const file = join(testFolder(), "token");
  const tokens = new AccessTokens(fleet.client.store, file);
  const host = { runtime: fleet.client, tokens, workspaces: [], startedAt: Date.now(), origin };
  const app = createApp(host, { routes, checkReplies: true, rate: { perSecond: 1e6, burst: 1e6 } });
  client = new MandateClient({
    ...{ url: origin, token: installationToken(file) },
    fetch: async (address, request) => app.request(String(address), request),
  });
}, 60_000);

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
  desk.clear();
});

const type = (...words: string[]) =>
  desk.start(words, {
    environment: { MANDATE_DATABASE_URL: fleet.url, MANDATE_ENGINE: "dbos" },
  }).done;

async function eventsOf(runId: string) {
  const events = [];
  for await (const event of fleet.client.store.readEvents({ runId })) events.push(event);
  return events;
}

/** A run whose two children work. */
async function startWorking(): Promise<string> {
  const runId = await fleet.startAndLeave("fan 2 steps 12 250");
  await until("both children work", () => fleet.notes().length > 4);
  return runId;
}

it(
  "pauses what workers do by the route, and continues it by the command line",
  patience,
  async () => {
    const runId = await startWorking();
    expect(await client.interruptRun({ runId })).toMatchObject({ outcome: "paused" });
    // A worker takes the root once more, to write that all below it is suspended.
    await until("it is suspended", async () => {
      const state = await fleet.client.store.readRun(runId);
      return state && isPaused(state);
    });
    const { length } = await eventsOf(runId);
    const asked = fleet.notes().length;
    expect((await client.getRun({ runId })).state).toBe("interrupted");
    // A second interrupt changes nothing.
    expect(await client.interruptRun({ runId })).toMatchObject({ outcome: "paused" });
    expect(JSON.parse((await type("show", runId, "--json")).out)).toMatchObject({
      state: "interrupted",
    });
    expect(await eventsOf(runId)).toHaveLength(length);
    expect(fleet.notes()).toHaveLength(asked);
    expect(await type("resume", runId)).toMatchObject({ code: 0, out: "done\n" });
    const events = await eventsOf(runId);
    expect(ofType(events, "run.finished")).toHaveLength(1);
    expect(ofType(events, "agent.model_turn")).toHaveLength(2 + 2 * 13);
  },
);

it(
  "is paused once, also when the worker of the root is killed at that moment",
  patience,
  async () => {
    const runId = await startWorking();
    const pausing = client.interruptRun({ runId });
    await fleet.loseHolder(runId);
    expect(await pausing).toMatchObject({ outcome: "paused" });
    expect(ofType(await eventsOf(runId), "agent.interrupted")).toHaveLength(1);
    expect(await type("resume", runId)).toMatchObject({ code: 0, out: "done\n" });
    expect(ofType(await eventsOf(runId), "run.finished")).toHaveLength(1);
  },
);

it("shows what a worker's model writes while it is written", patience, async () => {
  const heard: string[] = [];
  const watching = await createRuntime({
    consent: "named",
    environment: { MANDATE_HOME: desk.home, HOME: desk.home, MANDATE_DATABASE_URL: fleet.url },
    cwd: fleet.workspace,
    scripted: scriptedModel(() => "A viewer answers nothing."),
    onDelta: (id, text) => heard.push(`${id} ${text}`),
  });
  try {
    const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
    const { delegationId, result, runId } = await fleet.client.engine.startRun({
      task: `say 12000 ${words}`,
      profile: "general",
    });
    await until("the first words", () => heard.some((one) => one.startsWith(delegationId)));
    expect((await fleet.client.store.readRun(runId))?.outcome).toBeNull();
    expect(await result).toMatchObject({ status: "completed", result: words });
    const events = await eventsOf(runId);
    expect(ofType(events, "agent.model_turn")).toHaveLength(1);
  } finally {
    await watching.close();
  }
});
