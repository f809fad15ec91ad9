import { globSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parseArguments } from "../src/surfaces/cli/command.ts";
import { commands } from "../src/surfaces/cli/commands.ts";
import { Desk, type Typed } from "../src/surfaces/cli/desk.test-support.ts";
import { type GuideCommand, guideCommands } from "./guide-commands.ts";

const root = dirname(import.meta.dirname);
const documents = ["README.md", ...globSync("docs/{faults.md,guides/**/*.md}", { cwd: root })];
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

test("commands are found in pipes, in nested commands, after variables and over several lines", () => {
  const text = [
    "```sh",
    'A=1 mandate run "two words" # not this',
    'curl -H "Bearer $(mandate token show)" | mandate inbox && mandate \\',
    "  ls > out.json",
    "npm run -s mandate -- doctor",
    "```",
    "mandate outside",
  ].join("\n");
  expect(guideCommands(text).map(({ line, words }) => [line, ...words])).toEqual([
    [2, "run", "two words"],
    [3, "token", "show"],
    [3, "inbox"],
    [3, "ls"],
    [5, "doctor"],
  ]);
  expect(guideCommands(text)[0]?.environment).toEqual({ A: "1" });
  expect(guideCommands(text)[3]?.output).toBe("out.json");
});

test.each(documents)("%s names commands and options that there are", async (path) => {
  const problems: string[] = [];
  for (const { line, words } of guideCommands(textOf(path))) {
    const [word = "", ...rest] = words;
    const entry = Object.hasOwn(commands, word) ? commands[word] : undefined;
    try {
      if (entry === undefined) throw new Error(`there is no command "${word}"`);
      parseArguments(await entry.load(), rest);
    } catch (error) {
      problems.push(`${path}:${line}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  expect(problems).toEqual([]);
});

test.each(documents)("%s speaks of commands and options that there are", async (path) => {
  const problems: string[] = [];
  const prose = textOf(path).replaceAll(/^```[\s\S]*?^```/gm, "");
  for (const [span, word = "", rest = ""] of prose.matchAll(/`mandate ([a-z]+)\s?([^`]*)`/g)) {
    const command = Object.hasOwn(commands, word) ? await commands[word]?.load() : undefined;
    const options = [...rest.matchAll(/--([a-z-]+)/g)].map(([, name = ""]) => name);
    const isKnown = (name: string) =>
      name === "help" || Object.hasOwn(command?.options ?? {}, name);
    if (command === undefined || !options.every(isKnown)) problems.push(`${path}: ${span}`);
  }
  expect(problems).toEqual([]);
});

test.each(documents.filter((path) => path.startsWith("docs/guides/")))(
  "%s begins with the one question that it answers",
  (path) => {
    expect(textOf(path)).toMatch(/^# .+\n\n[A-Z][^\n]+\?\n\n/);
  },
);

/** Commands that serve, talk with a person, or ask the network what is there. */
const notRun: ReadonlySet<string> = new Set([
  ...["chat", "demo", "doctor", "gateway", "mcp", "serve", "worker"],
]);

function isRun({ environment, words }: GuideCommand): boolean {
  const [word = "", ...rest] = words;
  if (notRun.has(word) || Object.keys(environment).length > 0) return false;
  // A person has to allow this plan, or to answer three questions.
  if (rest.includes("--plan")) return rest.includes("--dry-run");
  if (word === "init") return rest.includes("--client");
  // The program has to be installed; `npm run test:agents` runs the real ones.
  if (rest.includes("--agent")) return false;
  return !words.some((each) => each.startsWith("anthropic/"));
}

const playbook = `version: 1
replies:
  - when: { profile: general, turn: 1, last: Remember }
    calls: [{ tool: memory_save, input: { text: "The port is 8080." } }]
  - text: Done.
`;

const profile = (name: string): string =>
  `---\nname: ${name}\ndescription: An agent of a guide.\n---\nDo what you are asked.\n`;

/** What the guides speak of. */
const files: Readonly<Record<string, string>> = {
  "helpers.yaml": playbook,
  "agents.yaml": "version: 1\nagents: []\n",
  ".mandate/agents/migrator.md": profile("migrator"),
  ".mandate/skills/migration-guide/SKILL.md": profile("migration-guide"),
  ".claude/agents/code-reviewer.md": profile("code-reviewer"),
  "examples/login-plan.yaml": textOf("examples/login-plan.yaml"),
};

/** A folder with what guides speak of, and a home in which two runs have ended. */
async function openGuide(): Promise<{ desk: Desk; names: ReadonlyMap<string, string> }> {
  const desk = new Desk();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(desk.folder, file)), { recursive: true });
    desk.write(file, text);
  }
  mkdirSync(join(desk.home, "harbour"));
  for (const task of ["Remember", "Second"]) {
    const run = await type(desk, ["run", "-q", task]);
    expect(run.code, run.err).toBe(0);
  }
  const [second, first] = await documentOf(desk, ["ls"]);
  const [memory] = await documentOf(desk, ["memory"]);
  const { out } = await type(desk, ["logs", first?.["id"] ?? "", "--json"]);
  const events = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
  const turn = events.findLast((event) => event["type"] === "agent.model_turn");
  const id = turn?.["sub_agent_id"] ?? "";
  return {
    desk,
    names: new Map([
      ["r1a2b3c", first?.["id"] ?? ""],
      ["r4d5e6f", second?.["id"] ?? ""],
      ...["3f9a2c", "367850", "ID", "[ID]"].map((name) => [name, id] as const),
      ["57", String(Number(turn?.["run_seq"]) - 1)],
      ["m4f2a1b", memory?.["id"] ?? ""],
      ["NAME", "code-reviewer"],
      ["~/harbour", join(desk.home, "harbour")],
    ]),
  };
}

async function documentOf(desk: Desk, words: readonly string[]) {
  const { out } = await type(desk, [...words, "--json"]);
  return JSON.parse(out) as readonly Readonly<Record<string, string>>[];
}

function type(desk: Desk, words: readonly string[]): Promise<Typed> {
  const places = { HOME: desk.home, PATH: "", XDG_CONFIG_HOME: "" };
  return desk.type(words, { environment: { ...places, MANDATE_PLAYBOOK: "helpers.yaml" } });
}

/** Answers in place of success: the delegation of this test has finished, and changed nothing. */
const expected = [
  /had no copy of its own/,
  /is completed; there is nothing to resume/,
  /Nothing was written/,
  /^$/, // Two runs that were compared are different.
];

const shown = documents.filter((path) => guideCommands(textOf(path)).some(isRun));

test.each(shown)("%s shows commands that work", async (path) => {
  const { desk, names } = await openGuide();
  try {
    const problems: string[] = [];
    for (const command of guideCommands(textOf(path)).filter(isRun)) {
      const words = command.words.map((word) => names.get(word) ?? word);
      const { code, err, out } = await type(desk, words);
      if (command.output !== undefined) desk.write(command.output, out);
      if (code === 0 || (code === 1 && expected.some((each) => each.test(err)))) continue;
      problems.push(`${path}:${command.line}: mandate ${words.join(" ")}: ${code} ${err}`);
    }
    expect(problems).toEqual([]);
  } finally {
    desk.clear();
  }
});
