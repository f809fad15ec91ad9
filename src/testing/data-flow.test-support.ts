/**
 * One worker of the orchestrator's example: `node data-flow.test-support.ts HOME WORKSPACE`. It takes
 * up what is there, or begins, and works until the run has ended. It may be killed at any moment.
 */
import { writeSync } from "node:fs";
import type { Script } from "../models/scripted/scripted-model.ts";
import { scriptedModel } from "../models/scripted/scripted-model.ts";
import { createRuntime } from "../runtime.ts";

const [home = "", workspace = ""] = process.argv.slice(2);
const write = (path: string, content: string) => ({
  tool: "write_file",
  input: { path, content },
});

const plan = {
  goal: "Build the login page.",
  steps: [
    {
      id: "plan",
      title: "Plan the page",
      description: "Write a timeline.",
      profile: "planner",
    },
    {
      id: "page",
      title: "Build the page",
      description: "Write login.html.",
      profile: "builder",
      depends_on: ["plan"],
      owns: ["login.html"],
    },
    {
      id: "style",
      title: "Build its style",
      description: "Write style.css.",
      profile: "builder",
      depends_on: ["plan"],
      owns: ["style.css"],
    },
    {
      id: "review",
      title: "Review the page",
      description: "Read login.html and style.css.",
      profile: "reviewer",
      depends_on: ["page", "style"],
    },
  ],
};

/** Plan, implement, review: as the design tells it, with a little time in between. */
const script: Script = ({ caller }) => {
  const latency_ms = 20;
  if (caller.profile === "orchestrator") {
    if (caller.turn === 1) return { latency_ms, calls: [{ tool: "submit_plan", input: plan }] };
    return { latency_ms, text: "The login page is built and reviewed." };
  }
  if (caller.profile === "builder" && caller.turn > 1) {
    const input = { summary: `${caller.task} is done.` };
    return { latency_ms, calls: [{ tool: "complete_task", input }] };
  }
  if (caller.turn > 1) return { latency_ms, text: `${caller.profile} is done. VERDICT: approve` };
  if (caller.profile === "builder") {
    const isPage = caller.task.includes("login.html");
    const call = isPage ? write("login.html", "<form></form>\n") : write("style.css", "form {}\n");
    return { latency_ms, calls: [call] };
  }
  return { latency_ms, calls: [{ tool: "list_files", input: {} }] };
};

const runtime = await createRuntime({
  consent: "named",
  environment: { MANDATE_HOME: home, HOME: home, PATH: process.env["PATH"] },
  cwd: workspace,
  synchronous: "normal",
  scripted: scriptedModel(script),
  trustWorkspace: true,
});
runtime.store.subscribe(() => writeSync(1, "committed\n"));
const [recovered] = await runtime.engine.recover();
const isNew = recovered === undefined && (await runtime.store.listRuns({})).length === 0;
const run = isNew
  ? await runtime.engine.startRun({ task: "build login page", profile: "orchestrator", workspace })
  : recovered;
const result = await run?.result;
await runtime.close();
process.stdout.write(`${result?.status ?? "done before"}\n`);
