/** Messages and dying processes: each stored message is read once, whenever a process dies. */
import { describe, expect, it, vi } from "vitest";
import { defaultConfig } from "../control/config.ts";
import type { StoredEvent } from "../events/event.ts";
import { type Script, scriptedModel } from "../models/scripted/scripted-model.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { nothing } from "../testing/faults/aftermath.test-support.ts";
import { openFaultHome } from "../testing/faults/fault-home.test-support.ts";
import { busy } from "./busy-tool.test-support.ts";

// Real processes, and a database for each moment at which one can die.
vi.setConfig({ testTimeout: 240_000 });

describe("a worker that is killed", () => {
  const child = [{ calls: [{ tool: "look" }] }];
  const heard = (text: string) => `Message from the person behind this run: ${text}`;

  it.each([
    {
      when: "before a message is stored",
      diesAt: { event: "agent.message_sent", side: "before" },
      stored: [],
      told: "marked",
    },
    {
      when: "between the first and the second message",
      diesAt: { event: "agent.message_sent", side: "after" },
      stored: ["look at b"],
      told: heard("look at b"),
    },
    {
      when: "between sent and delivered",
      diesAt: { event: "agent.interjected", side: "before" },
      stored: ["look at b", "and c"],
      told: heard("and c"),
    },
    {
      when: "between delivered and the next request",
      diesAt: { event: "agent.interjected", side: "after" },
      stored: ["look at b", "and c"],
      told: heard("and c"),
    },
    {
      when: "between delivered and the model's answer",
      // Only that answer repeats the words of the message as they were delivered.
      diesAt: { event: heard("and c"), side: "before" },
      stored: ["look at b", "and c"],
      told: heard("and c"),
    },
  ] as const)(
    "$when: what was stored is read once, in order, before the next turn",
    async (point) => {
      await using home = await openFaultHome();
      const job = { child, tells: ["look at b", "and c"], diesAt: point.diesAt };
      expect(await home.work(job)).toMatchObject({ signal: "SIGKILL" });
      const second = await home.work({ child, recovers: true });
      expect(second).toMatchObject({ signal: null, recovered: 1, again: 0 });
      const after = await home.after();
      expect(after).toMatchObject({
        states: ["closed completed report_accepted"],
        told: [{ status: "completed", result: point.told }],
        left: nothing,
      });
      const [sent, read] = [
        ofType(after.log, "agent.message_sent"),
        ofType(after.log, "agent.interjected"),
      ];
      expect(sent.map(({ payload }) => payload.message)).toEqual(point.stored);
      expect(read.map(({ payload }) => payload.message)).toEqual(point.stored);
      // No turn was answered between the two.
      const turns = ofType(after.log, "agent.model_turn", sent[0]?.sub_agent_id);
      const between = turns.filter(
        ({ seq }) => seq > (sent[0]?.seq ?? seq) && seq < (read.at(-1)?.seq ?? 0),
      );
      expect(between).toEqual([]);
    },
  );
});

describe("a run in which an agent sends messages to its sub-agent", () => {
  const config = {
    ...defaultConfig,
    tools: { ...defaultConfig.tools, spawn: { ...defaultConfig.tools.spawn, enabled: true } },
    profiles: [],
    files: [],
  };
  const profiles = [
    testProfile("lead", {
      tools: ["spawn", "spawn_await", "send_message"],
      mayDelegate: { tools: ["busy"] },
    }),
    testProfile("worker", { tools: ["busy"] }),
  ];

  /** The worker works until it has read two messages; the lead sends them, and waits for it. */
  const script: Script = ({ caller, messages }) => {
    const latency_ms = 1 + caller.depth;
    if (caller.profile === "worker") {
      const heard = messages.flatMap(({ role, text }) => (role === "user" ? text : [])).slice(1);
      if (heard.length < 2) {
        return { latency_ms, calls: [{ tool: "busy", input: { n: caller.turn } }] };
      }
      return { latency_ms, text: heard.map((text) => text.split(": ")[1]).join(", ") };
    }
    const [job] = messages.flatMap((one) => (one.role === "tool" ? one.text : []));
    const tell = (message: string) => ({
      latency_ms,
      calls: [{ tool: "send_message", input: { delegationId: job, message } }],
    });
    if (caller.turn === 1) {
      const input = { profile: "worker", task: "listen" };
      return { latency_ms, calls: [{ tool: "spawn", input }] };
    }
    if (caller.turn === 2) return tell("one");
    if (caller.turn === 3) return tell("two");
    if (caller.turn === 4) {
      return { latency_ms, calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
    }
    return `it heard ${messages.at(-1)?.text.split("\n").at(-1)}`;
  };

  it("that is cut after any of its commits ends the same, each message sent and read once", async () => {
    const { undisturbed, points } = await crashPoints(
      {
        config,
        profiles,
        tools: [busy],
        scripted: scriptedModel(script),
        synchronous: "normal",
        limits: { backoffMs: 1 },
      },
      { task: "go", profile: "lead" },
    );
    expect(undisturbed.result).toBe("it heard one, two");
    const types = new Set(points.flatMap(({ after }) => after.map(({ type }) => type)));
    expect(types).toContain("agent.message_sent");
    for (const { after, result, violations, writtenAgain } of points) {
      const where = `after ${after.map(({ type }) => type).join(", ")}`;
      expect(violations, where).toEqual([]);
      expect(writtenAgain, where).toBe(0);
      expect([result?.status, result?.result], where).toEqual(["completed", "it heard one, two"]);
    }
  });
});

describe("an answer that a message put off", () => {
  it.each(["agent.interjected", "agent.budget_reserved"] as const)(
    "stays put off when its process dies after %s",
    async (last) => {
      const profiles = [testProfile("thinker", { tools: [] })];
      const [asked, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const model: Script = async ({ caller }) => {
        if (caller.turn > 1) return new Promise<string>(() => undefined);
        asked.resolve();
        await told.promise;
        return "the first answer";
      };
      await using mandate = await openEngine({ profiles, model });
      const dead = Promise.withResolvers<void>();
      let wasSent = false;
      mandate.store.subscribe((events: readonly StoredEvent[]) => {
        wasSent ||= events.some(({ type }) => type === "agent.message_sent");
        if (!wasSent || !events.some(({ type }) => type === last)) return;
        mandate.abandon();
        dead.resolve();
      });
      const { delegationId, runId } = await mandate.start({ task: "go", profile: "thinker" });
      await asked.promise;
      await mandate.engine.send(delegationId, "and c", "person");
      told.resolve();
      await dead.promise;
      const { seen, model: next } = recording(({ caller }) =>
        caller.turn === 1 ? "the first answer" : "the better answer",
      );
      const second = await mandate.another({ profiles, model: next });
      const [recovered] = await second.engine.recover(runId);
      expect(await recovered?.result).toMatchObject({ result: "the better answer" });
      const said = seen.at(-1)?.messages.filter(({ text }) => text.includes("and c"));
      expect(said).toHaveLength(1);
      expect(ofType(await second.events(runId), "agent.interjected")).toHaveLength(1);
    },
  );
});
