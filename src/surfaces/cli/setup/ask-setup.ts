import { diagnose } from "../../../diagnose.ts";
import type { Io } from "../io.ts";
import { printableLine } from "../printable.ts";
import type { SetupAnswers } from "./config-text.ts";
import { talkingModels } from "./suggest-local-model.ts";

const usualTokens = 1_000_000;

/** What is written when nobody is asked. */
export async function usualAnswers(io: Io): Promise<SetupAnswers> {
  const [model = null] = await modelsHere(io);
  return { model, approval: true, runTokens: usualTokens };
}

/** Three questions; an empty answer takes what is offered. */
export async function askSetup(io: Io, ask: NonNullable<Io["ask"]>): Promise<SetupAnswers> {
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
    const answer = (await put(`   [${usualTokens.toLocaleString("en")}]: `)).replaceAll(
      /[,_ ]/g,
      "",
    );
    if (answer === "") return usualTokens;
    const tokens = /^[0-9]{1,12}$/.test(answer) ? Number(answer) : 0;
    if (tokens > 0 && tokens <= usualTokens) return tokens;
    io.stdout.write(
      tokens > 0
        ? "   A project's file can only lower it. For more, set limits.runTokens in your own configuration, ~/.config/mandate/config.yaml.\n"
        : "   That is not a whole number above 0.\n",
    );
  }
}

/** What could answer here and now: what is configured, then what local servers list. */
async function modelsHere(io: Io): Promise<readonly string[]> {
  const { models } = await diagnose(io.environment, io.cwd);
  const { default: name, problem } = models;
  const own = name === null || problem !== null || name.startsWith("scripted/") ? [] : [name];
  const local = models.local.flatMap((endpoint) => talkingModels(endpoint).slice(0, 5));
  return [...new Set([...own, ...local])];
}
