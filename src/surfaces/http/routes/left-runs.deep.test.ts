import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AccessTokens, installationToken } from "../../../control/access/access-tokens.ts";
import {
  openProcessFleet,
  type ProcessFleet,
} from "../../../testing/process-fleet.test-support.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import { MandateClient } from "../../client/mandate-client.ts";
import { createApp } from "../app.ts";
import { routes } from "./all-routes.ts";
import { refusal } from "./api.test-support.ts";

const origin = "http://127.0.0.1:4747";

let fleet: ProcessFleet;
let client: MandateClient;

beforeEach(async () => {
  fleet = await openProcessFleet({ workers: 1, atOnce: 1 });
  const file = join(testFolder(), "token");
  const tokens = new AccessTokens(fleet.client.store, file);
  const host = { runtime: fleet.client, tokens, workspaces: [], startedAt: Date.now(), origin };
  const app = createApp(host, { routes, checkReplies: true, rate: { perSecond: 1e6, burst: 1e6 } });
  client = new MandateClient({
    ...{ url: origin, token: installationToken(file) },
    fetch: async (address, request) => app.request(String(address), request),
  });
}, 60_000);

afterEach(() => fleet[Symbol.asyncDispose]());

/** What each description of a run, or of its only delegation, says of it. */
async function describe(runId: string): Promise<readonly unknown[]> {
  const detail = await client.getRun({ runId });
  const delegationId = detail.rootId ?? "";
  return [
    (await client.listRuns({})).items.map(({ state }) => state),
    detail.state,
    detail.tree.map(({ isInterrupted }) => isInterrupted),
    (await client.listDelegations({})).items.map(({ isInterrupted }) => isInterrupted),
    (await client.getDelegation({ delegationId })).isInterrupted,
    (await client.listSessions({})).items.map(({ status }) => status),
  ];
}

it("says that a run is being worked on as long as a worker lives, whoever started it", async () => {
  const runId = await fleet.startAndLeave("wait 60000");
  const running = [["running"], "running", [false], [false], false, ["running"]];
  expect(await describe(runId)).toEqual(running);
  expect(await refusal(client.resumeRun({ runId }))).toBe("409 not-resumable");
  await fleet.loseHolder(runId);
  const gone = [["interrupted"], "interrupted", [true], [true], true, ["interrupted"]];
  await expect.poll(() => describe(runId), { timeout: 45_000 }).toEqual(gone);
  await fleet.add();
  expect(await describe(runId)).toEqual(running);
}, 60_000);
