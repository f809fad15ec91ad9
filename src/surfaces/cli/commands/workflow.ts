import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  findStoppedRun,
  readWorkflowRun,
  resumeWorkflow,
  type WorkflowLimits,
  workflowToRun,
} from "../../../application/workflow-runs.ts";
import type { Resumed } from "../../../ports/delegator.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import { attend, attendOptions } from "../attend.ts";
import {
  type Arguments,
  anyWords,
  type Command,
  chosenFrom,
  flag,
  jsonOption,
  text,
} from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findFolder, findTarget } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import { agrees, type Io, localUser } from "../io.ts";
import { newWork } from "../offer-interrupted.ts";
import {
  applicationFor,
  chosenPlaybook,
  folderOption,
  limitOptions,
  limitsOf,
  playbookOf,
  readOnlyOption,
  runtimeOptions,
  withRuntime,
} from "../open-runtime.ts";
import { printable, printableLine, printJson, shortPaths } from "../printable.ts";
import { styleFor } from "../style.ts";
import type { StartedRun } from "../work-on.ts";
import { drawWorkflow } from "../workflows/draw-workflow.ts";

type Usable = ReturnType<Runtime["workflows"]["at"]>;

export const workflowCommand: Command = {
  name: "workflow",
  usage: "[options] run NAME|FILE | list | show [RUN] | resume RUN | check [FILE...]",
  about:
    "Runs workflow scripts: JavaScript files that begin with export const meta and call agent(),\n" +
    "parallel() and pipeline(). Every result is in the log before the script sees it. run continues an\n" +
    "interrupted run of the same file; resume also continues failed and cancelled ones, after edits of\n" +
    "the script as well: recorded results stand, only new, changed, failed and interrupted calls run.\n" +
    "A script of a project runs only when you trust exactly its content.",
  options: {
    args: text("JSON", "what the script gets as args; a text that is no JSON is passed as it is"),
    "max-output-tokens": text("NUMBER", "the script's budget.total"),
    "max-agents": text("NUMBER", "agents of the run at most (1000)"),
    "max-concurrent": text("NUMBER", "agents that work at once at most"),
    lenient: flag("accept a computed description, and a meta that is not the first statement"),
    trust: flag("trust the content of the named scripts without a question"),
    new: flag("run: start afresh, also where a run was interrupted"),
    workspace: folderOption,
    "read-only": readOnlyOption,
    ...limitOptions,
    ...runtimeOptions,
    ...consentOptions,
    ...attendOptions,
    json: jsonOption,
  },
  words: anyWords,
  examples: [
    "workflow run .claude/workflows/review.js --max-cost 5",
    'workflow run review --args \'{"path":"src"}\'',
    "workflow show r4f2a1",
    "workflow check --trust .claude/workflows/review.js",
  ],
  run(given, io) {
    const [word, ...rest] = given.words;
    return chosenFrom("workflow", words, word)({ given, io, rest });
  },
};

interface Asked {
  readonly given: Arguments;
  readonly io: Io;
  readonly rest: readonly string[];
}

const words: Readonly<Record<string, (asked: Asked) => Promise<number>>> = {
  run,
  list,
  show,
  resume,
  check,
};

async function run({ given, io, rest }: Asked): Promise<number> {
  const name = oneWord(rest, "run needs the name or the file of a workflow");
  const workspace = findFolder(given, io);
  const playbook = chosenPlaybook(given, io);
  const own = { ...io, cwd: workspace };
  return withRuntime(given, own, applicationFor(playbook), async (runtime) => {
    await runtime.control.view.refresh(true);
    const found = findScript(runtime, name, { given, io, workspace });
    await requireTrust(found, { given, io, runtime });
    await requireConsent(workspace, { given, io, runtime });
    const limits = scriptLimits(given);
    const args = argsOf(given);
    const document = {
      script: found.script,
      file: found.file,
      ...(given.flag("lenient") && { isLenient: true }),
      ...(args !== undefined && { args }),
      ...(limits && { limits }),
    };
    const { application, store } = runtime;
    const stopped = given.flag("new")
      ? undefined
      : await findStoppedRun(store, { application, workspace, document });
    const model = runtime.models.defaultModel;
    const work = await newWork({
      ...{ given, io, runtime, model, playbook, except: stopped?.run.id },
      async start(watch, display) {
        let started: StartedRun;
        if (stopped === undefined) {
          started = await runtime.engine.startRun({
            ...(await workflowToRun(runtime, document)),
            workspace,
            readOnly: given.flag("read-only"),
            ...limitsOf(given),
          });
        } else {
          const resumed = await resumeWorkflow(runtime, stopped, {
            limits,
            run: limitsOf(given),
            mayRun: (script) => requireTrust(script, { given, io, runtime }),
          });
          display.say(describeContinued(resumed, stopped.run.id, io));
          started = resumed;
        }
        await watch(started);
        return started;
      },
    });
    return work === "left" ? exitCode.interrupted : attend(given, work);
  });
}

async function resume({ given, io, rest }: Asked): Promise<number> {
  const id = oneWord(rest, "resume needs the id of a run: see mandate ls");
  const past = await withRuntime(given, io, applicationFor(chosenPlaybook(given, io)), (runtime) =>
    findWorkflow(runtime, id, io),
  );
  const playbook = chosenPlaybook(given, io) ?? playbookOf(past.run.application);
  return withRuntime(given, io, applicationFor(playbook), async (runtime) => {
    const { workspace } = past.run;
    await requireConsent(workspace, { given, io, runtime });
    const work = await newWork({
      ...{ given, io, runtime, playbook, model: runtime.models.defaultModel, except: past.run.id },
      async start(watch, display) {
        const args = argsOf(given);
        const resumed = await resumeWorkflow(runtime, past, {
          ...(args !== undefined && { args }),
          limits: scriptLimits(given),
          run: limitsOf(given),
          mayRun: (script) => requireTrust(script, { given, io, runtime }),
        });
        display.say(describeContinued(resumed, past.run.id, io));
        await watch(resumed);
        return resumed;
      },
    });
    return work === "left" ? exitCode.interrupted : attend(given, work);
  });
}

function describeContinued({ as, runId }: Resumed, id: string, io: Io): string {
  return as === "same"
    ? `Run ${id} continues. To start afresh: ${io.program} workflow run --new`
    : `Run ${runId} takes the recorded results of ${id}.`;
}

async function show({ given, io, rest }: Asked): Promise<number> {
  const [id] = rest;
  return withRuntime(given, io, applicationFor(undefined), async (runtime) => {
    const { run: of, view } = await findWorkflow(runtime, id, io);
    if (given.flag("json")) printJson(io, { runId: of.id, outcome: of.outcome, ...view });
    else io.stdout.write(`${drawWorkflow(of, view, styleFor(io.stdout, io))}\n`);
    return exitCode.done;
  });
}

async function list({ given, io }: Asked): Promise<number> {
  const workspace = findFolder(given, io);
  return withRuntime(given, io, applicationFor(undefined), async ({ control, workflows }) => {
    await control.view.refresh(true);
    const seen = new Set<string>();
    const found = workflows.files(workspace).filter(({ name }) => {
      // The nearest of equal names counts, and what cannot run is for check.
      if (name === null || seen.has(name)) return false;
      seen.add(name);
      return true;
    }) as readonly Usable[];
    if (given.flag("json")) {
      printJson(
        io,
        found.map(({ file, isTrusted, meta, name, origin }) => {
          return { ...meta, name, origin, file, isTrusted };
        }),
      );
      return exitCode.done;
    }
    if (found.length === 0) {
      io.stderr.write(
        `There are no workflows here. Put scripts into .claude/workflows, or run one with: ${io.program} workflow run FILE\n`,
      );
    }
    for (const { file, isTrusted, meta, name } of found) {
      const state = isTrusted ? "" : "  (not trusted)";
      const place = shortPaths(printableLine(file), io);
      io.stdout.write(
        `${printableLine(name)}  ${printableLine(meta.description)}${state}\n  ${place}\n`,
      );
    }
    return exitCode.done;
  });
}

/** Every file, with the place of each problem; with --trust the named ones are trusted. */
async function check({ given, io, rest }: Asked): Promise<number> {
  const workspace = findFolder(given, io);
  return withRuntime(given, io, applicationFor(undefined), async (runtime) => {
    await runtime.control.view.refresh(true);
    const options = { isLenient: given.flag("lenient") };
    const { workflows } = runtime;
    const found =
      rest.length === 0
        ? workflows.files(workspace, options)
        : rest.map((file) => workflows.read(resolve(io.cwd, file), options));
    let refused = 0;
    const told: object[] = [];
    for (const one of found) {
      const { file, name } = one;
      if (one.name === null) refused += 1;
      const trusts = one.name !== null && given.flag("trust") && rest.length > 0;
      if (trusts) await trust(one as Usable, runtime);
      const isTrusted = one.isTrusted || trusts;
      if ("problem" in one) told.push({ file, problem: one.problem });
      else told.push({ file, name, isTrusted });
      if (given.flag("json")) continue;
      if ("problem" in one) io.stdout.write(`${shortPaths(printable(one.problem), io)}\n`);
      else {
        const state = isTrusted ? "" : " (not trusted)";
        io.stdout.write(`${shortPaths(printableLine(file), io)}: ok${state}\n`);
      }
    }
    if (given.flag("json")) printJson(io, told);
    return refused > 0 ? exitCode.failed : exitCode.done;
  });
}

function findScript(
  { workflows }: Runtime,
  name: string,
  { given, io, workspace }: { given: Arguments; io: Io; workspace: string },
): Usable {
  const file = resolve(io.cwd, name);
  const isFile = /[\\/]|\.m?[jt]s$/.test(name) || existsSync(file);
  const options = { isLenient: given.flag("lenient") };
  try {
    return isFile ? workflows.at(file, options) : workflows.named(name, workspace, options);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    throw new MandateError(error.code, shortPaths(error.message, io), { cause: error });
  }
}

interface Trusting {
  readonly given: Arguments;
  readonly io: Io;
  readonly runtime: Runtime;
}

/** A person who sees the whole script can say yes; elsewhere --trust is the decision. */
async function requireTrust(found: Usable, { given, io, runtime }: Trusting): Promise<void> {
  if (found.isTrusted) return;
  const place = shortPaths(printableLine(found.file), io);
  if (!given.flag("trust")) {
    const { ask } = io;
    if (ask !== undefined) io.stderr.write(`${printable(found.script)}\n`);
    const isAgreed =
      ask !== undefined && (await agrees(ask, `Trust ${place} as it is now? [y/N] `));
    if (!isAgreed) {
      const next = `Read it, then: ${io.program} workflow check --trust ${place}`;
      throw new MandateError("refused-by-policy", `${place} is not trusted. ${next}`);
    }
  }
  await trust(found, runtime);
}

async function trust({ file, hash, name }: Usable, { control }: Runtime): Promise<void> {
  await control.plane.trust(hash, { file, name }, localUser);
  await control.view.refresh(true);
}

async function findWorkflow({ store }: Runtime, id: string | undefined, io: Io) {
  const { delegationId, runId } = await findTarget(store, id, io);
  const found = await readWorkflowRun(store, delegationId ?? runId);
  if (found !== undefined) return found;
  throw new MandateError(
    "usage",
    `${runId} carries out no workflow. See ${io.program} show ${runId}`,
  );
}

function oneWord([word, ...more]: readonly string[], needs: string): string {
  if (word !== undefined && more.length === 0) return word;
  throw new MandateError("usage", `workflow ${needs}.`);
}

function argsOf(given: Arguments): unknown {
  const said = given.text("args");
  if (said === undefined) return undefined;
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}

function scriptLimits(given: Arguments): WorkflowLimits | undefined {
  const limits = {
    outputTokens: given.count("max-output-tokens"),
    maxAgents: given.count("max-agents"),
    maxConcurrent: given.count("max-concurrent"),
  };
  const said = Object.entries(limits).filter(([, value]) => value !== undefined);
  return said.length === 0 ? undefined : Object.fromEntries(said);
}
