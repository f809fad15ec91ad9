/**
 * Workflow scripts: four files in `workflows/`, run unmodified. Their agents are delegations under one
 * contract, every result is in the log before the script sees it, and an equal call is never made
 * twice. The same from a shell: mandate workflow run examples/workflows/vote.js
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate } from "mandate";
import { scriptedModel } from "mandate/testing";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const asked: string[] = [];
let votes = 0;

/** What a model would say, by its task. */
function answer(task: string): string {
  if (task.startsWith("Review"))
    return JSON.stringify({ findings: [`a slip in ${task.slice(7)}`, "a style matter"] });
  if (task.startsWith("Is this true")) return JSON.stringify({ isReal: !task.includes("style") });
  if (task === "Research: Who keeps the harbour?")
    return JSON.stringify({ facts: ["A guild keeps it"], open: ["Since when?"] });
  if (task.startsWith("Research")) return JSON.stringify({ facts: ["since 1390"], open: [] });
  if (task === "Tie or no tie?")
    return JSON.stringify({ answer: votes++ % 3 === 0 ? "no" : "yes" });
  return `Done: ${task}`;
}

const mandate = await createMandate({
  cwd: root,
  environment: { HOME: root, PATH: process.env["PATH"] },
  database: ":memory:",
  scripted: scriptedModel(({ caller }) => {
    asked.push(caller.task);
    return answer(caller.task);
  }),
});

async function run(name: string, args: unknown): Promise<unknown> {
  const script = readFileSync(new URL(`./workflows/${name}.js`, import.meta.url), "utf8");
  const { result } = await mandate.runWorkflow({ script, args, maxTokens: 400_000 });
  const { result: text, status } = await result;
  console.log(`${name}: ${status}: ${text}`);
  return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
}

const review = await run("review", { files: ["a.ts", "b.ts"] });
const research = await run("research", { question: "Who keeps the harbour?" });
const migration = await run("migration", { files: ["a", "b", "c"], change: "Rename x to y" });
const vote = await run("vote", { question: "Tie or no tie?", voters: 5 });

const report = await mandate.verify();
await mandate.close();
rmSync(root, { recursive: true, force: true });
const found = JSON.stringify([review, migration, vote]);
const isRight =
  found ===
    JSON.stringify([
      ["a.ts: a slip in a.ts", "b.ts: a slip in b.ts"],
      { changed: 3, failed: [] },
      { yes: 3, no: 2, answer: "yes" },
    ]) &&
  research === "Done: Write the answer from: A guild keeps it; since 1390" &&
  asked.length === 2 + 4 + 3 + 3 + 5 &&
  report.ok;
if (!isRight) process.exitCode = 1;
