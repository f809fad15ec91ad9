/** Which agent programs are installed here, and whether they can be held: for `mandate doctor`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type KnownAgent, knownAgents } from "../../contracts/agent-runner.ts";
import type { Config } from "../../control/config.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Program } from "../../workspaces/processes/find-program.ts";
import { scrubEnvironment } from "../../workspaces/processes/program-environment.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";
import { adapterOf } from "./agent-adapters.ts";
import { commandOf, kindOf, obstacleTo } from "./agent-programs.ts";

export interface AgentFinding {
  readonly agent: KnownAgent;
  readonly title: string;
  /** Null: it is not installed. */
  readonly path: string | null;
  /** Null: it did not say. */
  readonly version: string | null;
  /** Why it cannot be held to a contract here, and what to do; null: it can. */
  readonly problem: string | null;
  /** The provider whose models it would ask through the gateway; null: none has a key. */
  readonly provider: string | null;
  /** What to set for its own provider, where none has a key. */
  readonly set?: string;
  /** A login of the person, for profiles that say `login: own`; null: it has none that could be used. */
  readonly hasLogin: boolean | null;
}

export interface LookAtAgents {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly config: Pick<Config, "models">;
  readonly clock: Clock;
  readonly providers: readonly {
    readonly provider: string;
    readonly isUsable: boolean;
    readonly set?: string;
  }[];
}

export function lookAtAgents(about: LookAtAgents): Promise<readonly AgentFinding[]> {
  const sandbox = detectSandbox(about.environment);
  return Promise.all(
    knownAgents.map(async (agent): Promise<AgentFinding> => {
      const { environment } = about;
      const { kinds, login, provider: own, title } = adapterOf({ agent });
      const command = commandOf({ agent }, environment);
      const program = "problem" in command ? null : command.program;
      const speaks = about.providers.filter(({ provider }) => {
        const kind = kindOf(`${provider}/`, about);
        return kind !== undefined && kinds.includes(kind);
      });
      const usable = speaks.find(({ isUsable }) => isUsable);
      const { set } = about.providers.find(({ provider }) => provider === own) ?? {};
      const home = environment["HOME"] ?? "";
      return {
        ...{ agent, title, path: program?.file ?? null },
        version: program && (await versionOf(program, about)),
        problem: obstacleTo({ agent }, environment, sandbox) ?? null,
        provider: usable?.provider ?? null,
        ...(usable === undefined && set !== undefined && { set }),
        hasLogin: login === null ? null : login.files.some((file) => existsSync(join(home, file))),
      };
    }),
  );
}

const longestMs = 15_000;
const mostBytes = 4096;

/** What the program says for `--version`. Some take seconds to start, and one that hangs is not waited for. */
async function versionOf(
  program: Program,
  { clock, environment }: Pick<LookAtAgents, "clock" | "environment">,
): Promise<string | null> {
  const start = { program, args: ["--version"], environment: scrubEnvironment(environment) };
  const child = startProgram({ ...start, leadsGroup: true }, ["ignore", "pipe", "ignore"]);
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    if (said.length < mostBytes) said += chunk.toString("utf8");
  });
  const timer = clock.after(longestMs, () => {
    child.kill("SIGKILL");
    // What it started may hold its output open.
    child.stdout.destroy();
  });
  await new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  timer.cancel();
  return /\d+\.\d+(?:\.\d+)?[\w.+-]*/.exec(said)?.[0] ?? null;
}
