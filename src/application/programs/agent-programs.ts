/**
 * Agent programs of others under contract: each runs in a sandbox around the working copy of its
 * delegation, with a private home, and reaches its models and our tools through one door.
 */
import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { type AgentRunner, isMetered } from "../../contracts/agent-runner.ts";
import {
  type AgentProgram,
  type AgentPrograms,
  ProgramFault,
} from "../../delegations/agent-programs.ts";
import { builtInProviders, type ProviderKind } from "../../models/provider-catalog.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { CommandSetup } from "../../tools/shell/command-runner.ts";
import {
  findProgram,
  namedProgram,
  type Program,
} from "../../workspaces/processes/find-program.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import { removeScratchFolder } from "../../workspaces/sandbox/scratch-folder.ts";
import type { ConfiguredModels } from "../gateway/gateway-models.ts";
import { adapterOf } from "./agent-adapters.ts";

export interface AgentProgramsOptions extends ConfiguredModels {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The version of Mandate that programs see. */
  readonly version: string;
  readonly store: Pick<Store, "findRun" | "readRun">;
  readonly commands: CommandSetup;
  /** Below this folder each program has its home until its delegation closes. */
  readonly folder: string;
}

export function createAgentPrograms(
  options: AgentProgramsOptions,
): AgentPrograms & { close(): Promise<void> } {
  const { commands, folder } = options;
  const running = new Map<string, HeldPrograms>();
  const forgetting = new Set<Promise<void>>();
  let tidied: Promise<void> | undefined;
  let isClosed = false;

  return {
    obstacleTo: (runner) => obstacleTo(runner, options.environment, commands.prepare().sandbox),
    modelsFor: (runner, candidates, isNamed) => modelsFor(runner, candidates, isNamed, options),
    loginHosts: (runner) => adapterOf(runner).login?.hosts ?? [],
    open(host) {
      void tidy().catch(() => undefined);
      const held = running.get(host.delegationId) ?? new HeldPrograms();
      running.set(host.delegationId, held);
      const opening = held.open(async () => {
        const { startAgentProgram } = await import("./start-agent-program.ts");
        return startAgentProgram(host, options, held);
      });
      return unlessClosed(opening.then((program) => withPrompt(program, unlessClosed)));
    },
    release,
    async forget(id) {
      const forgotten = forget(id);
      forgetting.add(forgotten);
      await forgotten.finally(() => forgetting.delete(forgotten));
    },
    tidy,
    async close() {
      isClosed = true;
      await Promise.all([...running.keys()].map(release));
      await Promise.allSettled(forgetting);
    },
  };

  /** That this process ends is no failure of a program: the next process continues its session. */
  function unlessClosed<Value>(work: Promise<Value>): Promise<Value> {
    return work.catch((error: unknown) => {
      if (isClosed) return new Promise<never>(() => undefined);
      throw error;
    });
  }

  async function forget(id: string): Promise<void> {
    await release(id);
    await tidied?.catch(() => undefined);
    await removeScratchFolder(join(folder, id));
  }

  async function release(id: string): Promise<void> {
    const held = running.get(id);
    running.delete(id);
    await held?.release();
  }

  /** Once for each process: it reads a run for each home that is there. */
  function tidy(): Promise<void> {
    tidied ??= sweep(options);
    return tidied;
  }
}

function withPrompt(
  program: AgentProgram,
  around: <Value>(work: Promise<Value>) => Promise<Value>,
): AgentProgram {
  const { isResumed, name, session } = program;
  return {
    ...{ isResumed, name, session },
    prompt: (text) => around(program.prompt(text)),
    cancel: () => program.cancel(),
  };
}

/** The programs of one delegation, those that are being started included, until they are released. */
export class HeldPrograms {
  readonly #ends = new Set<() => Promise<void>>();
  readonly #opening = new Set<Promise<AgentProgram>>();
  #isReleased = false;

  async open(start: () => Promise<AgentProgram>): Promise<AgentProgram> {
    const opening = start();
    this.#opening.add(opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(opening);
    }
  }

  /** `end` ends a program that was started, with all that it started. */
  async hold(end: () => Promise<void>): Promise<void> {
    this.#ends.add(end);
    if (!this.#isReleased) return;
    await end();
    throw new ProgramFault("Its delegation was stopped while it was being started.");
  }

  drop(end: () => Promise<void>): void {
    this.#ends.delete(end);
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    await Promise.all([...this.#ends].map((end) => end()));
    await Promise.allSettled(this.#opening);
  }
}

/** Why a program cannot be held to a contract here; undefined: it can. */
export function obstacleTo(
  runner: AgentRunner,
  environment: Readonly<Record<string, string | undefined>>,
  sandbox: SandboxFinding,
): string | undefined {
  if (!isMetered(runner) && adapterOf(runner).login === null) {
    return "it has no login of its own that could be used here.";
  }
  const command = commandOf(runner, environment);
  if ("problem" in command) return command.problem;
  if (!sandbox.isUsable) return `nothing here would hold it to its contract. ${sandbox.problem}`;
  if (sandbox.sandbox.hasNamespaces) return undefined;
  return `${sandbox.sandbox.name} cannot hold a program that needs its models.`;
}

interface AgentCommand {
  readonly program: Program;
  readonly args: readonly string[];
}

/** Where the program is. A program that an agent or a repository could have made is not started. */
export function commandOf(
  runner: AgentRunner,
  environment: Readonly<Record<string, string | undefined>>,
): AgentCommand | { readonly problem: string } {
  const { command: own, install, title } = adapterOf(runner);
  const [command = own, ...args] = "acp" in runner ? runner.acp : [own];
  if (isAbsolute(command)) {
    try {
      return { program: namedProgram(command), args };
    } catch {
      return { problem: `${command} is not a program. Name one that is installed.` };
    }
  }
  if (command.includes("/")) {
    return {
      problem: `"${command}" is a relative path. Name the program by an absolute path, or by its name on PATH.`,
    };
  }
  const found = findProgram(command, environment["PATH"]);
  if (found.isFound) return { program: found.program, args };
  const where = found.refused === null ? "is not installed" : `is ${found.refused}`;
  return { problem: `${command} of ${title} ${where}. Install it: ${install}.` };
}

function modelsFor(
  runner: AgentRunner,
  candidates: () => readonly string[],
  isNamed: boolean,
  options: AgentProgramsOptions,
): readonly string[] {
  const { kinds, provider } = adapterOf(runner);
  const speaks = (name: string): boolean => {
    const kind = kindOf(name, options);
    return kind !== undefined && kinds.includes(kind);
  };
  if (isNamed) {
    const named = candidates();
    const spoken = named.filter(speaks);
    return spoken.length > 0 || !isMetered(runner) ? spoken : named;
  }
  const usual = isMetered(runner) ? allOrNone(candidates).filter(speaks) : [];
  if (usual.length > 0) return usual;
  return [`${provider}/${builtInProviders[provider]?.defaultModel}`];
}

function allOrNone(candidates: () => readonly string[]): readonly string[] {
  try {
    return candidates();
  } catch {
    // The default of the program's own provider may be reached all the same.
    return [];
  }
}

export function kindOf(
  model: string,
  { config }: Pick<AgentProgramsOptions, "config">,
): ProviderKind | undefined {
  const provider = model.slice(0, model.indexOf("/"));
  const configured = config.models.providers ?? {};
  if (Object.hasOwn(configured, provider)) {
    return configured[provider]?.kind ?? builtInProviders[provider]?.kind ?? "openai-compatible";
  }
  return Object.hasOwn(builtInProviders, provider) ? builtInProviders[provider]?.kind : undefined;
}

/** Homes of delegations that closed while no process of ours could remove them. */
async function sweep({ folder, store }: AgentProgramsOptions): Promise<void> {
  for (const id of await readdir(folder).catch(() => [])) {
    const runId = await store.findRun(id).catch(() => undefined);
    const run = runId === undefined ? undefined : await store.readRun(runId).catch(() => undefined);
    const delegation = run?.delegations.get(id);
    if (delegation?.status === "closed") await removeScratchFolder(join(folder, id));
  }
}
