import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import {
  type Past,
  ResumeScene,
  type Surface,
  surfaces,
  violationsIn,
} from "./resume-scene.test-support.ts";

const patience = { timeout: 60_000 };

/** A process of its own that begins work, and is killed as soon as an agent is at a model. */
async function killAtWork(scene: ResumeScene, begin: string): Promise<string> {
  const script = `
    import { createRuntime } from ${JSON.stringify(new URL("../runtime.ts", import.meta.url).href)};
    const { engine, store } = await createRuntime({
      consent: "named",
      application: ${JSON.stringify(scene.application)},
      playbook: { file: ${JSON.stringify(scene.playbook)} },
    });
    ${begin}
    store.subscribe((events) => {
      for (const { sub_agent_id, type } of events) {
        if (type === "agent.budget_reserved" && isLast(sub_agent_id)) console.log(runId);
      }
    });
    await go();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: scene.desk.folder,
    env: { ...scene.environment, PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  let runId = "";
  for await (const chunk of child.stdout) {
    runId += String(chunk);
    if (runId.endsWith("\n")) child.kill("SIGKILL");
  }
  await exited;
  expect(child.signalCode).toBe("SIGKILL");
  return runId.trim();
}

const killed = {
  "a run": (scene) =>
    killAtWork(
      scene,
      `
    let runId = "";
    let asked = 0;
    const isLast = () => ++asked === 2;
    const go = async () => { ({ runId } = await engine.startRun({ task: "nest", profile: "lead" })); };`,
    ),
  "a session of another program": (scene) =>
    killAtWork(
      scene,
      `
    const session = await engine.openSession({ client: "other-program" });
    const { runId } = session;
    let asked = 0;
    const isLast = () => ++asked === 2;
    const go = async () => {
      for (const agentId of ["ender", "rester"]) {
        await session.call("spawn_subagent", { agentId, prompt: "slow", returnMode: "background" });
      }
    };`,
    ),
} satisfies Readonly<Record<string, Past>>;

const ends = {
  "a run": {
    words: "Run R continues where it stopped.",
    results: ["The sub-agent answered."],
  },
  "a session of another program": {
    words: "Run R continues where it stopped, with its sub-agents alone: D, D.",
    results: ["Finished.", "Finished."],
  },
};

const table = Object.entries<Past>(killed).flatMap(([past, prepare]) =>
  Object.entries<Surface>(surfaces).map(([name, resume]) => ({ past, prepare, name, resume })),
);

test.each(table)(
  "$past whose process was killed with SIGKILL continues by the $name of another process",
  patience,
  async ({ past, prepare, resume }) => {
    await using scene = new ResumeScene();
    const id = await prepare(scene);
    expect(await resume(scene, id)).toEqual(ends[past as keyof typeof ends]);
    expect(await violationsIn(scene)).toEqual([]);
  },
);
