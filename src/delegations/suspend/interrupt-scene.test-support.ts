import type { Delegation } from "../../events/delegation.ts";
import { isPaused } from "../../events/run-state.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { busy } from "../busy-tool.test-support.ts";

const tools = ["delegate_task", "busy", "spawn", "spawn_await"];
export const profiles = [
  testProfile("lead", { tools: "*", capabilities: ["primary", "subtask"] }),
  testProfile("ender", { tools, onParentInterrupt: "cancel" }),
  testProfile("goer", { tools, onParentInterrupt: "continue" }),
  testProfile("rester", { tools, onParentInterrupt: "pause" }),
  testProfile("leaf", { tools: ["busy"] }),
];

/** Children work turn after turn until they may stop; then they say how many turns it took. */
export class Scene {
  mayStop = false;
  readonly asked: string[] = [];
  readonly #roots: readonly { readonly tool: string; readonly input: object }[];

  constructor(...roots: readonly { readonly tool: string; readonly input: object }[]) {
    this.#roots = roots;
  }

  readonly model: Script = ({ caller, messages }) => {
    this.asked.push(caller.profile);
    if (caller.task === "elsewhere") return "done";
    if (caller.profile === "lead") {
      const heard = messages.flatMap((each) => (each.role === "tool" ? each.text : []));
      return caller.turn === 1 ? { calls: this.#roots } : `heard ${heard.length}`;
    }
    // One with somebody below it: `nest a leaf`.
    if (caller.task.startsWith("nest") && caller.turn === 1) {
      return { calls: [delegate("leaf", "below")] };
    }
    if (this.mayStop) return `${caller.task} is done`;
    return { latency_ms: 1, calls: [{ tool: "busy", input: { n: caller.turn } }] };
  };
}

export const delegate = (profile: string, task: string) => ({
  tool: "delegate_task",
  input: { profile, task },
});

export const openWith = (scene: Scene) =>
  openEngine({ profiles, tools: [busy], model: scene.model });

/** Starts the lead and waits until every agent without children has had some turns. */
export async function startScene(mandate: TestEngine, agents: number) {
  const started = await mandate.start({ task: "go", profile: "lead" });
  await until("every agent without children has had some turns", async () => {
    const all = await agentsOf(mandate, started.runId);
    const busyOnes = all.filter(({ id }) => !all.some(({ parentId }) => parentId === id));
    return all.length === agents && busyOnes.every(({ turns }) => turns > 1);
  });
  return started;
}

export const turnsOf = (scene: Scene, profile: string): number =>
  scene.asked.filter((who) => who === profile).length;

export async function agentsOf(mandate: TestEngine, runId: string): Promise<readonly Delegation[]> {
  return [...((await mandate.store.readRun(runId))?.delegations.values() ?? [])];
}

/** Who it was, its status, and how it ended or what it waits on. */
export async function statesOf(
  mandate: TestEngine,
  runId: string,
): Promise<Record<string, string>> {
  const described = (await agentsOf(mandate, runId)).map((one): [string, string] => {
    if (one.status === "closed") return [one.profile, one.closeReason];
    return [one.profile, one.status === "running" ? one.waitingOn.on : one.status];
  });
  return Object.fromEntries(described);
}

export async function isRunPaused(mandate: TestEngine, runId: string): Promise<boolean> {
  const run = await mandate.store.readRun(runId);
  return run !== undefined && isPaused(run);
}
