import { lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diagnose } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Arguments } from "../command.ts";
import { talkingModels } from "../commands/doctor.ts";
import { exitCode } from "../exit-code.ts";
import { consentByInit, requireProjectFolder } from "../folder-consent.ts";
import { type Io, localUser } from "../io.ts";
import { printable, printableLine, printJson } from "../printable.ts";
import { withControl } from "../with-store.ts";

/** Writes a commented mandate.yaml into this folder, after three questions or without any. */
export async function setUpProject(given: Arguments, io: Io): Promise<number> {
  const file = join(io.cwd, "mandate.yaml");
  // A dangling link counts as a file: nothing is written through it.
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) {
    throw new MandateError(
      "usage",
      `There is a mandate.yaml here already: ${file}. \`${io.program} doctor\` shows the settings in effect.`,
    );
  }
  requireProjectFolder(given, io);
  const isAsked = io.ask !== undefined && !given.flag("yes") && !given.flag("json");
  const answers =
    isAsked && io.ask !== undefined ? await askSetup(io, io.ask) : await defaultAnswers(io);
  const text = configText(answers);
  const isWritten = isAsked || given.flag("yes");
  // `wx`: a file that appeared since is not replaced.
  if (isWritten) {
    writeFileSync(file, text, { flag: "wx" });
    await consentByInit(given, io);
    await trustWritten(file, io);
  }
  if (given.flag("json")) {
    printJson(io, { file, ...answers, written: isWritten });
    return isWritten ? exitCode.done : exitCode.failed;
  }
  if (!isWritten) {
    io.stdout.write(text);
    io.stderr.write("Nothing was written: there is no terminal to ask. --yes writes this.\n");
    return exitCode.failed;
  }
  io.stdout.write(`Written: ${printable(file)}\n`);
  io.stdout.write(
    answers.model === null
      ? `Next: ${io.program} doctor says how to give it a model; ${io.program} demo needs none.\n`
      : `Next: ${io.program} run "What does this project do?"\n`,
  );
  return exitCode.done;
}

/** The person let init write the file, which is their trust in it. */
function trustWritten(file: string, io: Io): Promise<void> {
  return withControl(io, async ({ plane, waitingFiles }) => {
    const written = waitingFiles().find((each) => each.file === file);
    if (written === undefined) return;
    await plane.trust(written.hash, { file, name: "mandate.yaml" }, localUser);
  });
}

const defaultTokens = 1_000_000;

/** The answers without a terminal. */
async function defaultAnswers(io: Io): Promise<SetupAnswers> {
  const [model = null] = await modelsHere(io);
  return { model, approval: true, runTokens: defaultTokens };
}

/** Three questions; an empty answer takes the offered value. */
async function askSetup(io: Io, ask: NonNullable<Io["ask"]>): Promise<SetupAnswers> {
  const put = async (question: string): Promise<string> =>
    (await ask(question, new AbortController().signal)).trim();
  return {
    model: await askModel(io, put),
    approval: await askApproval(io, put),
    runTokens: await askTokens(io, put),
  };
}

type Put = (question: string) => Promise<string>;

async function askModel(io: Io, put: Put): Promise<string | null> {
  const models = await modelsHere(io);
  io.stdout.write("1. Which model do agents use, where their profile names none?\n");
  for (const [index, model] of models.entries()) {
    io.stdout.write(`   ${index + 1}  ${printableLine(model)}\n`);
  }
  if (models.length === 0) {
    io.stdout.write(
      `   There is no key and no local model server here; \`${io.program} doctor\` says more.\n`,
    );
  }
  const offered = models[0] ?? "later";
  for (;;) {
    const answer = await put(`   number, provider/model, or "later" [${printableLine(offered)}]: `);
    if (answer === "") return models[0] ?? null;
    if (answer === "later") return null;
    const chosen = /^[0-9]{1,3}$/.test(answer) ? models[Number(answer) - 1] : answer;
    if (chosen !== undefined && /^[a-z0-9-]+\/\S{1,200}$/.test(chosen)) return chosen;
    io.stdout.write("   That is neither a number of the list nor provider/model.\n");
  }
}

async function askApproval(io: Io, put: Put): Promise<boolean> {
  io.stdout.write(
    "2. Children write in copies of this folder. Should you see their changes before they are merged?\n",
  );
  for (;;) {
    const answer = await put("   yes or no [yes]: ");
    if (/^(y(es)?)?$/i.test(answer)) return true;
    if (/^no?$/i.test(answer)) return false;
    io.stdout.write("   That is neither yes nor no.\n");
  }
}

async function askTokens(io: Io, put: Put): Promise<number> {
  io.stdout.write("3. How many tokens may one run use, all its agents together?\n");
  for (;;) {
    const answer = (await put(`   [${defaultTokens.toLocaleString("en")}]: `)).replaceAll(
      /[,_ ]/g,
      "",
    );
    if (answer === "") return defaultTokens;
    const tokens = /^[0-9]{1,12}$/.test(answer) ? Number(answer) : 0;
    if (tokens > 0 && tokens <= defaultTokens) return tokens;
    io.stdout.write(
      tokens > 0
        ? "   A project's file can only lower it. For more, set limits.runTokens in your own configuration, ~/.config/mandate/config.yaml.\n"
        : "   That is not a whole number above 0.\n",
    );
  }
}

/** The models that work here: the configured one, then those of local servers. */
async function modelsHere(io: Io): Promise<readonly string[]> {
  const { models } = await diagnose(io.environment, io.cwd);
  const { default: name, problem } = models;
  const own = name === null || problem !== null || name.startsWith("scripted/") ? [] : [name];
  const local = models.local.flatMap((endpoint) => talkingModels(endpoint).slice(0, 5));
  return [...new Set([...own, ...local])];
}

/** The answers to the questions of `mandate init`. */
export interface SetupAnswers {
  /** `provider/model`; null: chosen later. */
  readonly model: string | null;
  /** Whether a person looks at changes before they are merged. */
  readonly approval: boolean;
  /** Tokens for a whole run. */
  readonly runTokens: number;
}

const laterModel = `# Without a model no work can start: set a key in the environment, or name a model here.
# models:
#   default: provider/model`;

/** The first mandate.yaml of a project: the answers, and other settings as comments. */
export function configText({ approval, model, runTokens }: SetupAnswers): string {
  return `# Mandate: what agents may do in this project. Every key and its default:
# docs/reference/configuration.md, or \`mandate doctor --schema mandate\` for your editor.
# This file narrows what your own file (~/.config/mandate/config.yaml) allows, and never widens it.

${model === null ? laterModel : `models:\n  default: ${scalar(model)}`}
#   pools:                        # several, in the order in which they are tried
#     main: [provider/model, provider/model]
#   defaultPool: main

limits:
  # Tokens for one run, all agents in it together.
  runTokens: ${runTokens}
  # Agents in one run.
  # maxChildren: 200

integration:
  # Children write in copies of this folder. A person is asked before their changes are merged:
  approval: ${approval}
  # Commands that have to succeed on the merged files first, in a sandbox:
  # checks: ["npm test"]

# agents:
#   delegation:
#     maxDepth: 3
#     maxConcurrent: 5
#     defaultTimeout: 300000        # milliseconds for one delegation
#     tokenBudget: { default: 50000, max: 200000 }

# network:
#   allow: [example.com, "*.example.org"]   # hosts that agents may reach; "*" is every public one

# profiles:
#   namer:
#     description: Finds names for things
#     tools: [read_file]
#     prompt: You find names.
`;
}

/** A YAML scalar that is always read as text. */
function scalar(text: string): string {
  return /^[\w./:@+-]+$/.test(text) && !/:$/.test(text) ? text : JSON.stringify(text);
}
