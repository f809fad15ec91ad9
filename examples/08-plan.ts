/**
 * A plan is data: steps, who does each, what each depends on, which paths it may change. It runs
 * without a model that plans; steps start when what they depend on is done, are told the results of
 * those, and write side by side where they own different paths. A plan that cannot be carried out is
 * refused as a whole. The same as a file: examples/login-plan.yaml.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate } from "mandate";
import { type ScriptedReply, scriptedModel } from "mandate/testing";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const project = join(root, "project");
mkdirSync(project);
const plan = {
  goal: "The harbour has a guide.",
  steps: [
    {
      id: "survey",
      title: "Look around",
      description: "Say what there is.",
      profile: "researcher",
    },
    {
      id: "tides",
      title: "Write about tides",
      description: "tides.md",
      profile: "writer",
      depends_on: ["survey"],
      owns: ["tides.md"],
    },
    {
      id: "lamps",
      title: "Write about lamps",
      description: "lamps.md",
      profile: "writer",
      depends_on: ["survey"],
      owns: ["lamps.md"],
    },
    {
      id: "guide",
      title: "Put it together",
      description: "guide.md",
      profile: "writer",
      depends_on: ["tides", "lamps"],
      owns: ["*.md"],
    },
  ],
};

const told = new Map<string, string>();
const order: string[] = [];
const mandate = await createMandate({
  cwd: project,
  environment: { HOME: root, PATH: process.env["PATH"] },
  database: ":memory:",
  scripted: scriptedModel(({ caller, messages }): ScriptedReply => {
    const { profile, task: path, turn } = caller;
    if (turn === 1) told.set(path, messages[0]?.text ?? "");
    if (profile === "researcher") {
      return turn === 1 ? { calls: [{ tool: "list_files" }] } : { text: "There are two lamps." };
    }
    if (turn > 1) return { text: `${path} is written.` };
    return { calls: [{ tool: "write_file", input: { path, content: `# ${path}\n` } }] };
  }),
});
mandate.on("agent.subagent_started", ({ sub_agent_id: id = "" }) => order.push(id));
const titles = new Map<string, string>();
mandate.on("agent.subagent_created", ({ payload, sub_agent_id: id = "" }) =>
  titles.set(id, payload.title),
);

const run = (task: unknown) =>
  mandate.delegate({
    profile: "plan-runner",
    task: JSON.stringify(task),
    workspace: project,
    maxTokens: 200_000,
  });

const done = await run(plan);
console.log(done.result);
const started = order.map((id) => titles.get(id)).slice(1);
console.log("started in this order:", started.join(" · "));

// Two steps that wait for each other: nothing is started at all.
const [survey, tides] = plan.steps;
const circle = await run({
  ...plan,
  steps: [{ ...survey, depends_on: ["tides"] }, tides],
});
console.log(circle.closeReason, "·", circle.result);

const report = await mandate.verify();
await mandate.close();
const isRight =
  done.status === "completed" &&
  started[0] === "Look around" &&
  started.at(-1) === "Put it together" &&
  told.get("tides.md")?.includes("There are two lamps.") === true &&
  readFileSync(join(project, "guide.md"), "utf8") === "# guide.md\n" &&
  circle.status === "failed" &&
  circle.subDelegations === undefined &&
  report.ok;
rmSync(root, { recursive: true, force: true });
if (!isRight) process.exitCode = 1;
