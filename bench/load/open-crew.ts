import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Profile } from "../../src/agents/profiles/profile.ts";
import { noExposure } from "../../src/contracts/exposure.ts";
import type { ScriptedReply } from "../../src/models/scripted/playbook.ts";
import { type Script, scriptedModel } from "../../src/models/scripted/scripted-model.ts";
import { createRuntime, type Runtime } from "../../src/runtime.ts";
import { defineTool } from "../../src/tools/tool.ts";

export interface CrewOptions {
  readonly folder: string;
  readonly synchronous: "full" | "normal";
  readonly maxConcurrent: number;
  readonly application?: string;
}

/** What a lead is told to do; its task is this, as JSON. */
export interface Job {
  /** Children of the lead, all asked for in one turn. */
  readonly children: number;
  /** Turns of a child in which it uses its tool, before it answers. */
  readonly turns: number;
  /** The latency of every answer of a child's model; negative: no answer ever comes. */
  readonly latencyMs: number;
  /** Started without waiting for them, and awaited together. */
  readonly isSpawned?: boolean;
}

export const startOf = (job: Job) => ({ task: JSON.stringify(job), profile: "lead" });

/** The product on the scripted model, with limits that much work does not reach. */
export async function openCrew(options: CrewOptions): Promise<Runtime> {
  const { application = "load", folder, maxConcurrent, synchronous } = options;
  const home = join(folder, "home");
  const workspace = join(folder, "workspace");
  mkdirSync(workspace, { recursive: true });
  return createRuntime({
    consent: "named",
    environment: { MANDATE_HOME: home, HOME: folder, PATH: process.env["PATH"] ?? "" },
    cwd: workspace,
    ...{ application, maxConcurrent, synchronous },
    scripted: scriptedModel(script),
    profiles: [profileOf("lead", leadTools), profileOf("worker", ["tick"])],
    tools: [tick],
    limits: {
      ...{ maxChildren: 1e6, runTokens: 1e12, maxTokens: 1e12, defaultTokens: 1e8 },
      ...{ runTimeMs: 3_600_000, defaultTimeMs: 3_600_000, joinTokens: 1e9 },
    },
  });
}

const leadTools = ["tick", "delegate_task", "spawn", "spawn_await"];

function profileOf(name: string, tools: readonly string[]): Profile {
  return {
    name,
    description: `The ${name} of the load`,
    capabilities: ["subtask"],
    prompt: `You are the ${name}.`,
    tools,
    mayDelegate: { tools: leadTools },
    model: { maxOutputTokens: 100 },
    origin: "load",
  };
}

const tick = defineTool({
  name: "tick",
  description: "Counts one step.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({ number: z.number(), note: z.string() }),
  execute: ({ note, number }) => `${number}: ${note}`,
});

const note = "the berth is sound, the crane is not in use";

/** Decided from the request alone, so that it is the same after a crash. */
const script: Script = ({ caller: { profile, task, turn } }): ScriptedReply => {
  const job = JSON.parse(task) as Job;
  const { children, isSpawned = false, latencyMs, turns } = job;
  if (profile === "worker") {
    const latency = latencyMs < 0 ? 3_000_000 : latencyMs;
    const wait = latency > 0 && { latency_ms: latency };
    if (turn > turns) return { text: "The work is done.", ...wait };
    return { calls: [{ tool: "tick", input: { number: turn, note } }], ...wait };
  }
  if (turn === 1) {
    const input = { profile: "worker", task };
    const tool = isSpawned ? "spawn" : "delegate_task";
    return { calls: Array.from({ length: children }, () => ({ tool, input })) };
  }
  if (isSpawned && turn === 2) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
  return { text: "All of them reported." };
};
