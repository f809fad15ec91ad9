/** For tests: a lead whose one child meets a fault, and what is true afterwards. */
import { expect } from "vitest";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { StoredEvent } from "../../events/event.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import type { Model } from "../../ports/model.ts";
import { type EngineOptions, openEngine, recording, testProfile } from "../engine-fixture.ts";
import {
  type Left,
  lookAround,
  namesOf,
  stateOf,
  type Told,
  toldTo,
} from "./aftermath.test-support.ts";

export interface Scene extends EngineOptions {
  /** Over a child that has the scene's tools and no second attempt. */
  readonly child?: Partial<Profile>;
  /** What the child's model answers, one reply a turn and the last one from then on. */
  readonly answers?: Script | readonly ScriptedReply[];
  /** Or the child is asked by way of a provider's own client: `provider/model`. */
  readonly provider?: string;
  /** What the lead's model says once it has the child's result. */
  readonly leadSays?: ScriptedReply;
  /** What has to have happened before the lead's model says that. */
  readonly before?: () => Promise<unknown>;
}

/** What holds after every fault: one end, one result for the parent, and a lead that goes on. */
export interface Aftermath {
  readonly state: string;
  /** The child's events, without `agent.` and `subagent_`. */
  readonly events: readonly string[];
  readonly ofRun: readonly string[];
  /** What the lead's model was handed. */
  readonly told: Told;
  readonly result: DelegationResult;
  readonly left: Left;
  readonly log: readonly StoredEvent[];
  readonly child: string;
  /** What the child's model was asked, when it is a script. */
  readonly asked: ReturnType<typeof recording>["seen"];
}

const delegate: ScriptedReply = {
  calls: [{ tool: "delegate_task", input: { profile: "worker", task: "work" } }],
};

/** Carries the scene out, with the checker over home and database at its end. */
export async function meetFault(scene: Scene): Promise<Aftermath> {
  const { answers = [], before, child, leadSays = { text: "noted" }, provider, ...options } = scene;
  const lead = recording(async ({ caller }) => {
    if (caller.turn === 1) return delegate;
    await before?.();
    return leadSays;
  });
  const worker = recording(
    typeof answers === "function"
      ? (answers as Script)
      : ({ caller }) => answers[Math.min(caller.turn, answers.length) - 1] ?? "",
  );
  const tools = (options.tools ?? []).map(({ name }) => name);
  const handedOn = Array.isArray(child?.tools) ? [...tools, ...child.tools] : tools;
  const isScripted = provider === undefined;
  const models: Record<string, Model> = { lead: scriptedModel(lead.model) };
  if (isScripted) models["worker"] = scriptedModel(worker.model);
  await using mandate = await openEngine({
    ...options,
    models,
    profiles: [
      testProfile("lead", {
        tools: ["delegate_task"],
        mayDelegate: { tools: handedOn },
        model: { model: "lead/playbook" },
      }),
      testProfile("worker", {
        tools,
        model: { model: provider ?? "worker/playbook" },
        ...child,
      }),
    ],
    limits: { maxRetries: 0, ...options.limits },
  });
  const { runId, events, result } = await mandate.run({ task: "go", profile: "lead" });
  const id = result.subDelegations?.[0]?.delegationId ?? "";
  const handed = lead.seen.at(-1)?.messages;
  expect(result).toMatchObject({ status: "completed", result: leadSays.text });
  const names = namesOf(events, id);
  expect(names.filter((name) => name === "closed")).toHaveLength(1);
  expect(names.at(-1)).toBe("closed");
  const given = namesOf(events, result.delegationId);
  expect(given.filter((name) => name === "tool_completed")).toHaveLength(1);
  return {
    state: await stateOf(mandate.store, runId, id),
    events: names,
    ofRun: namesOf(events),
    told: toldTo(handed),
    result,
    left: lookAround(mandate.home),
    log: events,
    child: id,
    asked: worker.seen,
  };
}

/** The names of a life, from its creation to its end, with what happened in between. */
export function life(...between: readonly string[]): readonly string[] {
  return ["created", "started", "attempt", ...between, "closed"];
}

/** One request and what came of it. */
export const turn: readonly string[] = ["budget_reserved", "model_turn", "budget_settled"];
export const lostRequest: readonly string[] = ["budget_reserved", "budget_settled"];
