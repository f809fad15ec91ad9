import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { systemClock } from "../../ports/clock.ts";
import { Desk } from "../cli/desk.test-support.ts";
import { createMandate, type Mandate } from "../library/mandate.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  const archive = join(import.meta.dirname, "0.1.0.tar.gz");
  execFileSync("tar", ["--no-same-owner", "-xzf", archive, "-C", desk.home]);
});

afterEach(() => desk.clear());

/** What each run was for, how it ended, how many agents it had; the latest first. */
const runs = [
  ["wait for an answer", null, 1],
  ["paused", null, 2],
  ["Session of another program", "succeeded", 2],
  ["nested", "succeeded", 3],
  ["second goal", "succeeded", 1],
  ["first goal", "succeeded", 1],
  ["and now?", "succeeded", 1],
  ["hello", "succeeded", 1],
  ["watched", "succeeded", 2],
  ["be told", "succeeded", 1],
  ["merge what a person approves", "succeeded", 3],
  ["merge one, conflict two", "succeeded", 4],
  ["cancelled", "cancelled", 3],
  ["look at a lot", "succeeded", 1],
  ["spawn and leave", "failed", 2],
  ["spawn and wait", "succeeded", 2],
  ["plan that fails", "failed", 2],
  ["plan", "succeeded", 5],
  ["denied", "succeeded", 1],
  ["more than reserved", "succeeded", 1],
  ["usage unknown", "succeeded", 1],
  ["all tools in the prompt", "succeeded", 1],
  ["too little for one answer", "failed", 1],
  ["spend it all", "succeeded", 1],
  ["out of time", "failed", 1],
  ["provider rejects", "failed", 1],
  ["mixed", "succeeded", 3],
  ["nested", "succeeded", 3],
  ["look around", "succeeded", 1],
  ["taken over", "succeeded", 3],
  ["retried", "succeeded", 2],
] as const;

/** How often each end of a delegation occurs. */
const ends = {
  budget_exhausted: 2,
  cancelled: 2,
  exit_rule_unmet: 1,
  integrated: 3,
  merge_conflict: 2,
  parent_closed: 1,
  policy_denied: 1,
  provider_unavailable: 3,
  report_accepted: 38,
  timeout: 1,
};

/** How often each type of event occurs. */
const types = {
  "agent.answered": 3,
  "agent.asked": 4,
  "agent.budget_reserved": 104,
  "agent.budget_settled": 104,
  "agent.interjected": 5,
  "agent.interrupted": 1,
  "agent.model_turn": 93,
  "agent.paused": 2,
  "agent.resumed": 2,
  "agent.retried": 3,
  "agent.subagent_attempt": 58,
  "agent.subagent_closed": 54,
  "agent.subagent_completed": 42,
  "agent.subagent_created": 57,
  "agent.subagent_failed": 12,
  "agent.subagent_started": 57,
  "agent.subagent_waiting_for_merge": 46,
  "agent.tool_completed": 45,
  "agent.tool_denied": 3,
  "agent.tool_failed": 5,
  "agent.tool_started": 52,
  "agent.worktree_merged": 6,
  "command.executed": 5,
  "control.pruned": 1,
  "control.record_changed": 5,
  "run.finished": 29,
  "run.planned": 2,
  "run.resumed": 1,
  "run.started": 31,
};

/** Just after the last event: what has a deadline is still in time. */
const clock = { ...systemClock, now: () => Date.UTC(2026, 0, 5, 9, 1) };

/** Opens the home as a program does, with a model that nobody should ask unless it is given. */
function open(more: Partial<Parameters<typeof createMandate>[0]> = {}): Promise<Mandate> {
  return createMandate({
    environment: { MANDATE_HOME: desk.home, HOME: desk.folder },
    cwd: desk.folder,
    principal: { id: "ada", role: "operator" },
    scripted: scriptedModel(() => {
      throw new Error("a model was asked");
    }),
    clock,
    ...more,
  });
}

async function eventsOf(mandate: Mandate, runId?: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of mandate.events(runId === undefined ? {} : { runId })) {
    events.push(event);
  }
  return events;
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words.toSorted()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

async function json<Value>(...words: readonly string[]): Promise<Value> {
  const { code, err, out } = await desk.type([...words, "--json"]);
  expect({ words, code, err }).toMatchObject({ words, code: 0 });
  return JSON.parse(out) as Value;
}

interface ListedRun {
  readonly id: string;
  readonly task: string;
  readonly outcome: string | null;
  readonly delegations: number;
}

const list = () => json<readonly ListedRun[]>("ls", "--limit", "100");

describe("a home that version 0.1.0 recorded", () => {
  it("opens with all of its runs, and verifies", async () => {
    const listed = await list();
    expect(listed.map(({ delegations, outcome, task }) => [task, outcome, delegations])).toEqual(
      runs,
    );
    expect(await json("verify")).toMatchObject({
      ...{ ok: true, events: 832, delegations: 57, violations: [] },
      pruned: { runs: 1, events: 25 },
    });
    const mandate = await open({ recover: false });
    const events = await eventsOf(mandate);
    const closed = events.flatMap(({ payload, type }) =>
      type === "agent.subagent_closed" ? payload.close_reason : [],
    );
    expect(tally(closed)).toEqual(ends);
    expect(tally(events.map(({ type }) => type))).toEqual(types);
    expect((await mandate.verify()).violations).toEqual([]);
    await mandate.close();
  });

  it("replays", async () => {
    const mandate = await open({ recover: false });
    for (const { id, outcome, task } of await list()) {
      const { differences, isFinished } = await mandate.replay(id);
      const said = differences.map(({ message }) => message);
      expect({ task, said, isFinished }).toEqual({
        task,
        said: [],
        isFinished: outcome !== null,
      });
    }
    await mandate.close();
  });

  it("is read by the command line, with records, memories, sessions and kept work", async () => {
    for (const { id, task } of await list()) {
      for (const words of [
        ["tree", id],
        ["show", id],
        ["logs", id],
      ]) {
        const { code, err, out } = await desk.type(words);
        expect({ words, code, err }).toEqual({ words, code: 0, err: expect.any(String) });
        expect(out.length).toBeGreaterThan(task.length);
      }
    }
    const { items } = await json<{ items: readonly object[] }>("inbox");
    expect(items.length).toBeGreaterThan(10);
    expect(await json("agents", "list")).toMatchObject([
      { agentId: "@helper", profileId: "worker" },
    ]);
    const memories = await json<readonly object[]>("memory", "list");
    expect(memories).toMatchObject([
      { text: "I was here.", promoted: null },
      { text: "The port is 8080.", promoted: null },
      { text: "The port is 8080.", promoted: { by: "ada" } },
    ]);
    const sessions = await json<readonly { id: string; title: string }[]>(
      ...["sessions", "list", "--all", "--limit", "100"],
    );
    const greetings = sessions.find(({ title }) => title === "Greetings");
    expect(greetings).toMatchObject({ runs: 2, lastMessage: "and now?: done" });
    const kept = readdirSync(join(desk.home, "copies"));
    const diffs = await Promise.all(kept.map((id) => desk.type(["diff", id])));
    const added = diffs.map(({ out }) => /^\+(?!\+)(.*)$/m.exec(out)?.[1]);
    expect(added.toSorted()).toEqual(["write no", "write two"]);
    const mandate = await open({ recover: false });
    const pins = await mandate.control.pins({ workspace: "/tmp/mandate-recorded/workspace" });
    expect(pins).toMatchObject([{ scope: "workspace", profileId: "worker" }]);
    expect(await mandate.control.trustedContent()).toMatchObject([{ name: "reviewer" }]);
    expect(await mandate.inbox.seen()).toBeGreaterThan(0);
    const [ask] = await mandate.inbox.open();
    expect(ask).toMatchObject({ kind: "ask", text: "Blue or green?" });
    await mandate.close();
  });

  it("is not changed by opening it: ended runs stay, what rests rests, what asks still asks", async () => {
    const before = await open({ recover: false });
    const recorded = await eventsOf(before);
    await before.close();
    const mandate = await open();
    const [waiting] = mandate.recovered;
    expect(mandate.recovered).toHaveLength(1);
    expect(await mandate.asks()).toMatchObject([{ question: "Blue or green?" }]);
    const events = await eventsOf(mandate);
    expect(events.slice(0, recorded.length)).toEqual(recorded);
    // Taking up the run of a worker that is gone is all that is new.
    const added = events.slice(recorded.length);
    expect(new Set(added.map(({ run_id: runId }) => runId))).toEqual(new Set([waiting?.runId]));
    const takingUp = new Set(["run.resumed", "agent.resumed"]);
    expect(added.filter(({ type }) => !takingUp.has(type))).toEqual([]);
    await mandate.close();
  });

  it("goes on where it was left, when a person answers and resumes", async () => {
    const mandate = await open({ scripted: scriptedModel(() => "done at last") });
    const [waiting] = mandate.recovered;
    const [ask] = await mandate.asks();
    expect(await mandate.answer(ask?.id ?? "", "green")).toBe(true);
    expect(await waiting?.result).toMatchObject({ status: "completed", result: "done at last" });
    const paused = (await list()).find(({ task }) => task === "paused")?.id ?? "";
    const resumed = await mandate.command(`/resume ${paused}`, { id: "ada", role: "operator" });
    expect(resumed).toMatchObject({ ok: true, data: { as: "same", runId: paused } });
    await expect
      .poll(async () => (await list()).every(({ outcome }) => outcome !== null), {
        timeout: 45_000,
      })
      .toBe(true);
    for (const id of [paused, waiting?.runId ?? ""]) {
      expect((await mandate.replay(id)).differences).toEqual([]);
    }
    expect((await mandate.verify()).violations).toEqual([]);
    await mandate.close();
  });
});
