import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeResumed } from "../application/commands/describe-run.ts";
import { AccessTokens, installationToken } from "../control/access/access-tokens.ts";
import { isPaused } from "../events/run-state.ts";
import { openStore } from "../open-store.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { createRuntime, type Runtime } from "../runtime.ts";
import { until } from "../testing/until.ts";
import { Desk } from "./cli/desk.test-support.ts";
import { MandateApiError, MandateClient } from "./client/mandate-client.ts";
import { createApp } from "./http/app.ts";
import { routes } from "./http/routes/all-routes.ts";
import { createMandate, type Mandate } from "./library/mandate.ts";

/** Work takes so long that it is always cut; a resumption plays the same much faster. */
const playbook = `
version: 1
replies:
  - when: { last: interrupted }
    text: "Continued."
  - when: { task: break }
    fault: unauthorized
  - when: { task: quick }
    text: "Done at once."
  - when: { profile: lead, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: rester, task: slow } }]
  - when: { profile: lead }
    text: "The sub-agent answered."
  - latency_ms: 600000
    text: "Finished."
`;

export const fast = 1_000_000;

const profiles: Readonly<Record<string, string>> = {
  lead: "capabilities: [primary]\ntools: [delegate_task]",
  rester: "tools: []\nonParentInterrupt: pause",
  ender: "tools: []",
};

/** A home with one past run in a certain state. */
export class ResumeScene implements AsyncDisposable {
  readonly desk = new Desk();
  readonly playbook = this.desk.write("book.yaml", playbook);
  readonly application = `playbook:${this.playbook}`;
  readonly environment = {
    MANDATE_HOME: this.desk.home,
    XDG_CONFIG_HOME: this.desk.home,
    HOME: this.desk.home,
  };
  readonly #open = new Set<Runtime>();

  constructor() {
    const folder = join(this.desk.home, "mandate", "agents");
    mkdirSync(folder, { recursive: true });
    for (const [name, fields] of Object.entries(profiles)) {
      const text = `---\ndescription: The ${name}\n${fields}\n---\nYou are ${name}.\n`;
      writeFileSync(join(folder, `${name}.md`), text);
    }
  }

  /** A process on this home. */
  async process(speed = 1): Promise<Runtime> {
    const runtime = await createRuntime({
      consent: "named",
      environment: this.environment,
      cwd: this.desk.folder,
      application: this.application,
      playbook: { file: this.playbook, speed },
    });
    this.#open.add(runtime);
    return runtime;
  }

  /** The process dies: nothing more is written. */
  async kill(runtime: Runtime): Promise<void> {
    this.#open.delete(runtime);
    runtime.engine.close();
    await runtime.store.close();
  }

  async end(runtime: Runtime): Promise<void> {
    this.#open.delete(runtime);
    await runtime.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#open) await runtime.close();
    this.desk.clear();
  }
}

/** Makes a past, and gives the id to resume. */
export type Past = (scene: ResumeScene) => Promise<string>;

async function agentsOf({ store }: Runtime, runId: string) {
  return [...((await store.readRun(runId))?.delegations.values() ?? [])];
}

/** Waits until so many agents of the run wait for a model. */
async function untilAtWork(
  runtime: Runtime,
  runId: string,
  { all, working }: { readonly all: number; readonly working: number },
): Promise<void> {
  await until(`${working} of ${all} agents at work`, async () => {
    const agents = await agentsOf(runtime, runId);
    const isAtModel = agents.filter(
      (one) => one.status === "running" && one.waitingOn.on === "model",
    );
    return agents.length === all && isAtModel.length === working;
  });
}

const nested = { all: 2, working: 1 };

async function pausedRun(scene: ResumeScene): Promise<{ runId: string; childId: string }> {
  const runtime = await scene.process();
  const { runId } = await runtime.engine.startRun({ task: "nest", profile: "lead" });
  await untilAtWork(runtime, runId, nested);
  await runtime.engine.interrupt(runId, "later");
  const [, child] = await agentsOf(runtime, runId);
  await scene.end(runtime);
  return { runId, childId: child?.id ?? "" };
}

async function interruptedRun(scene: ResumeScene): Promise<{ runId: string; childId: string }> {
  const runtime = await scene.process();
  const { runId } = await runtime.engine.startRun({ task: "nest", profile: "lead" });
  await untilAtWork(runtime, runId, nested);
  const [, child] = await agentsOf(runtime, runId);
  await scene.kill(runtime);
  return { runId, childId: child?.id ?? "" };
}

async function cancelledRun(scene: ResumeScene): Promise<{ runId: string; childId: string }> {
  const runtime = await scene.process();
  const { runId } = await runtime.engine.startRun({ task: "nest", profile: "lead" });
  await untilAtWork(runtime, runId, nested);
  await runtime.engine.cancel(runId, "enough");
  const [, child] = await agentsOf(runtime, runId);
  await scene.end(runtime);
  return { runId, childId: child?.id ?? "" };
}

/** A run of one agent that came to its end by itself. */
async function endedRun(scene: ResumeScene, task: string): Promise<string> {
  const runtime = await scene.process();
  const { result, runId } = await runtime.engine.startRun({ task, profile: "ender" });
  await result;
  await scene.end(runtime);
  return runId;
}

/** Another program's agent, and sub-agents of it that are at work, or have completed. */
async function session(
  scene: ResumeScene,
  ...children: readonly (readonly [profile: string, task: string])[]
) {
  const runtime = await scene.process();
  const opened = await runtime.engine.openSession({ client: "other-program" });
  for (const [agentId, prompt] of children) {
    const returnMode = prompt === "quick" ? "blocking" : "background";
    await opened.call("spawn_subagent", { agentId, prompt, returnMode });
  }
  const working = children.filter(([, task]) => task !== "quick").length;
  await untilAtWork(runtime, opened.runId, { all: children.length + 1, working });
  return { runtime, session: opened, runId: opened.runId };
}

export const pasts = {
  "a run that was paused": async (scene) => (await pausedRun(scene)).runId,
  "a sub-agent of a run that was paused": async (scene) => (await pausedRun(scene)).childId,
  "a run whose process is gone": async (scene) => (await interruptedRun(scene)).runId,
  "a sub-agent of a run whose process is gone": async (scene) =>
    (await interruptedRun(scene)).childId,
  "a run that was cancelled": async (scene) => (await cancelledRun(scene)).runId,
  "a sub-agent of a run that was cancelled": async (scene) => (await cancelledRun(scene)).childId,
  "a run that failed": (scene) => endedRun(scene, "break"),
  "a run that completed": (scene) => endedRun(scene, "quick"),
  "a run that another process works on": async (scene) => {
    const runtime = await scene.process();
    const { runId } = await runtime.engine.startRun({ task: "slow", profile: "ender" });
    await untilAtWork(runtime, runId, { all: 1, working: 1 });
    return runId;
  },
  "a session of another program that was paused": async (scene) => {
    const { runId, runtime, session: held } = await session(scene, ["rester", "slow"]);
    await held.close();
    const run = await runtime.store.readRun(runId);
    if (run === undefined || !isPaused(run)) throw new Error("it is not paused");
    await scene.end(runtime);
    return runId;
  },
  "a session of another program whose process is gone": async (scene) => {
    const { runId, runtime } = await session(scene, ["ender", "slow"], ["rester", "slow"]);
    await scene.kill(runtime);
    return runId;
  },
  "a session of another program that left work": async (scene) => {
    const sub = ["ender", "slow"] as const;
    const { runId, runtime, session: held } = await session(scene, sub, ["ender", "quick"], sub);
    await held.close();
    await scene.end(runtime);
    return runId;
  },
  "a session of another program whose sub-agents completed": async (scene) => {
    const { runId, runtime, session: held } = await session(scene, ["ender", "quick"]);
    await held.close();
    await scene.end(runtime);
    return runId;
  },
  "a session of another program that a process serves": async (scene) => {
    const { runId } = await session(scene, ["ender", "slow"]);
    return runId;
  },
} satisfies Readonly<Record<string, Past>>;

/** What a surface said, and what became of it. */
export interface Said {
  /** Without ids: R for a run, D for a delegation, P for a process. */
  readonly words: string;
  /** How the agents ended whose results count, in order; absent: nothing was resumed. */
  readonly results?: readonly (string | undefined)[];
}

export type Surface = (scene: ResumeScene, id: string) => Promise<Said>;

export function withoutIds(text: string): string {
  return text
    .replace(/\br[0-9a-f]{6,8}\b/g, "R")
    .replace(/\b[0-9a-f]{6}\b/g, "D")
    .replace(/Process \d+/g, "Process P");
}

interface Continuing {
  readonly runs: readonly { readonly agents: readonly string[] }[];
}

async function resultsOf({ engine }: Runtime, { runs }: Continuing) {
  const agents = runs.flatMap((run) => run.agents);
  return Promise.all(
    agents.map((id) => until(`${id} ends`, async () => (await engine.resultOf(id))?.result)),
  );
}

/** What was asked of the library is over when this is; a refusal gives its words. */
export async function withMandate(
  scene: ResumeScene,
  ask: (mandate: Mandate) => Promise<Said | undefined>,
): Promise<Said> {
  const mandate = await createMandate({
    environment: scene.environment,
    cwd: scene.desk.folder,
    application: scene.application,
    playbook: { file: scene.playbook, speed: fast },
    recover: false,
  });
  try {
    return (await ask(mandate)) ?? { words: "" };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    return { words: withoutIds(error.message) };
  } finally {
    await mandate.close();
  }
}

/** Runs the scene over HTTP. */
export async function withApi(
  scene: ResumeScene,
  ask: (client: MandateClient, runtime: Runtime) => Promise<Said | undefined>,
): Promise<Said> {
  const runtime = await scene.process(fast);
  const file = join(scene.desk.home, "tokens", "local");
  const tokens = new AccessTokens(runtime.store, file);
  const origin = "http://127.0.0.1:4747";
  const host = { runtime, tokens, workspaces: [], startedAt: Date.now(), origin };
  const rate = { perSecond: 1e6, burst: 1e6 };
  const app = createApp(host, { routes, checkReplies: true, rate });
  const client = new MandateClient({
    ...{ url: origin, token: installationToken(file) },
    fetch: async (address, request) => app.request(String(address), request),
  });
  try {
    return (await ask(client, runtime)) ?? { words: "" };
  } catch (error) {
    if (!(error instanceof MandateApiError)) throw error;
    return { words: withoutIds(error.message) };
  } finally {
    await scene.end(runtime);
  }
}

/** Only the outside of each surface: its front door in, its words out. */
export const surfaces = {
  library: (scene, id) =>
    withMandate(scene, async (mandate) => {
      const resumed = await mandate.resume(id);
      await Promise.all(resumed.runs.map(({ result }) => result));
      const agents = resumed.runs.flatMap((run) => run.agents);
      const ends = await Promise.all(agents.map((one) => mandate.getResult(one)));
      const words = withoutIds(describeResumed(resumed, id));
      return { words, results: ends.map((end) => end?.result) };
    }),

  http: (scene, id) =>
    withApi(scene, async (client, runtime) => {
      const resumed = id.startsWith("r")
        ? await client.resumeRun({ runId: id })
        : await client.resumeDelegation({ delegationId: id });
      const words = withoutIds(describeResumed(resumed, id));
      return { words, results: await resultsOf(runtime, resumed) };
    }),

  async "command line"(scene, id) {
    const words = ["resume", "--speed", String(fast), "--json", id];
    const { err, out } = await scene.desk.type(words);
    const lines = err.split("\n").filter((line) => /^Run |^Resumed |^mandate: /.test(line));
    const said = withoutIds(lines.join("\n").replace(/^mandate: /, ""));
    if (out === "") return { words: said };
    const { results, ...one } = JSON.parse(out);
    const ends: readonly { result: string }[] = results ?? [one];
    return { words: said, results: ends.map(({ result }) => result) };
  },

  "slash command": (scene, id) =>
    withMandate(scene, async (mandate) => {
      const said = await mandate.command(`/resume ${id}`, { id: "ann", role: "operator" });
      const words = withoutIds(said.reply);
      if (!said.ok) return { words };
      const agents = (said.data as Continuing).runs.flatMap((run) => run.agents);
      const ends = agents.map((one) =>
        until(`${one} ends`, async () => (await mandate.getResult(one))?.result),
      );
      return { words, results: await Promise.all(ends) };
    }),
} satisfies Readonly<Record<string, Surface>>;

/** The log of a home passes the checker. */
export async function violationsIn(scene: ResumeScene): Promise<readonly unknown[]> {
  const { verifyHome } = await import("../application/verify-home.ts");
  const store = await openStore({ environment: scene.environment });
  try {
    return (await verifyHome(store, { places: null })).violations;
  } finally {
    await store.close();
  }
}
