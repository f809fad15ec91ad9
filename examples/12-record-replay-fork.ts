/**
 * A run that was recorded is a test: the log has every answer of every model. First a run is made
 * and kept; then one's own agent, changed meanwhile, is held against the recorded answers, without a
 * key. `replay` has the whole run again from its log alone, and `fork` goes on from the middle of it,
 * without asking again what finished children have answered.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate, type Profile, type StoredEvent } from "mandate";
import { openRecordedStore, recordingOf, replayModel, scriptedModel } from "mandate/testing";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const environment = { HOME: root, MANDATE_HOME: join(root, "home") };
const triage: Profile = {
  name: "triage",
  description: "Decides who looks at a report",
  capabilities: ["primary"],
  prompt: "You hand reports on.",
  tools: ["delegate_task"],
  origin: "example",
};
const expert: Profile = {
  name: "expert",
  description: "Looks at a report",
  capabilities: ["subtask"],
  prompt: "You look.",
  tools: [],
  origin: "example",
};

// A run as it would be with a real model, kept in a home.
let asked = 0;
const live = await createMandate({
  cwd: root,
  environment,
  profiles: [triage, expert],
  scripted: scriptedModel(({ caller, messages }) => {
    asked++;
    if (caller.profile === "expert") return "It is the lamp.";
    const last = messages.at(-1);
    if (last?.text === "Say it shortly.") return "Lamp.";
    if (last?.role === "tool") return "The expert says: the lamp.";
    const input = { profile: "expert", task: "Why is it dark?" };
    return { calls: [{ tool: "delegate_task", input }] };
  }),
});
const task = "The harbour is dark.";
const { result, runId } = await live.start({ profile: "triage", task });
await result;

// The recorded run once more, in memory: no person is asked, and every event comes out the same.
const asksBefore = asked;
const replayed = await live.replay(runId);
console.log(`replayed ${replayed.delegations} delegations:`, replayed.differences.length, "differ");

// On from the middle, with another word: the expert is not asked again.
const events: StoredEvent[] = [];
for await (const event of live.events({ runId })) events.push(event);
const joined = events.find(({ type }) => type === "agent.tool_completed");
const fork = await live.fork(runId, { at: joined?.run_seq ?? 0, task: "Say it shortly." });
const forked = await fork.result;
console.log(`forked at event ${joined?.run_seq}:`, forked.result, "·", asked - asksBefore, "asked");
const report = await live.verify();
await live.close();

/** What a test of one's own would do: today's profiles, the answers of then. */
async function today(profiles: readonly Profile[]) {
  const store = openRecordedStore(environment.MANDATE_HOME);
  const scripted = replayModel(await recordingOf(runId, store));
  const mandate = await createMandate({
    cwd: root,
    environment,
    database: ":memory:",
    profiles,
    scripted,
  });
  try {
    return await mandate.delegate({ profile: "triage", task });
  } finally {
    await mandate.close();
    await store.close();
  }
}
const better = await today([{ ...triage, prompt: "You hand reports on, and thank." }, expert]);
console.log("a changed prompt:", better.status, "·", better.result);
// Somebody took the tool away: the recorded answers do not lead to the expert any more.
const broken = await today([{ ...triage, tools: [] }, expert]);
console.log("a lost tool:", broken.subDelegations?.length ?? 0, "delegations");

rmSync(root, { recursive: true, force: true });
const isRight =
  replayed.differences.length === 0 &&
  asked - asksBefore === 1 &&
  forked.result === "Lamp." &&
  report.ok &&
  better.subDelegations?.[0]?.profile === "expert" &&
  broken.subDelegations === undefined;
if (!isRight) process.exitCode = 1;
