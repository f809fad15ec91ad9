import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "./outcome.ts";
import { outcomeOf, tail } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

const playbook = `version: 1
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: summarizer, task: "Count the lamps" } }]
  - { when: { depth: 0 }, text: "The harbour is lit: {{last}}" }
  - { text: "There are two." }
`;

/** The program as people call it after `npm install`, on a home of its own. */
export async function checkCommandLine(root: string, project: string): Promise<Outcome> {
  const home = join(project, "home");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(project, "playbook.yaml"), playbook);
  const environment = {
    PATH: process.env["PATH"],
    HOME: home,
    MANDATE_HOME: join(home, "mandate"),
    MANDATE_PLAYBOOK: join(project, "playbook.yaml"),
    // Not used: the doctor asks no provider, and the playbook answers.
    ANTHROPIC_API_KEY: "none",
  };
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const expected: readonly (readonly [readonly string[], (said: string) => boolean])[] = [
    [["--version"], (said) => said.trim() === version],
    [["doctor"], (said) => said.includes("✓ node")],
    [
      // The project holds the home folder of this check.
      ["run", "--force", "--quiet", "Is the harbour lit?"],
      (said) => said.includes("The harbour is lit") && said.includes("There are two."),
    ],
    [["ls"], (said) => said.includes("Is the harbour lit?")],
    [["verify"], (said) => /^✓ [1-9]\d* events.*everything holds/m.test(said)],
    [["profiles", "ls"], (said) => said.includes("summarizer")],
  ];
  const problems: string[] = [];
  for (const [words, isRight] of expected) {
    const typed = ["--no-install", "mandate", ...words];
    const ended = await runProgram("npx", typed, { cwd: project, environment, timeoutMs: 120_000 });
    if (ended.code === 0 && isRight(ended.stdout)) continue;
    problems.push(
      `mandate ${words.join(" ")} ended with ${ended.code} and said:\n    ${tail(ended.stdout + ended.stderr)}`,
    );
  }
  return outcomeOf(problems, `${expected.length} commands of the installed program`);
}
