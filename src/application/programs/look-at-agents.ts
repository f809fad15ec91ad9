/** Which agent programs are installed here, and whether they can be held: for `mandate doctor`. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type KnownAgent, knownAgents } from "../../contracts/agent-runner.ts";
import type { Config } from "../../control/config.ts";
import { isRecord, parseJson } from "../../ports/parse-json.ts";
import { headOf } from "../../text.ts";
import type { Program } from "../../workspaces/processes/find-program.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";
import { adapterOf } from "./agent-adapters.ts";
import { commandOf, kindOf, obstacleTo } from "./agent-programs.ts";

export interface AgentFinding {
  readonly agent: KnownAgent;
  readonly title: string;
  /** Null: it is not installed. */
  readonly path: string | null;
  /** Null: its package does not say. */
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
  readonly providers: readonly {
    readonly provider: string;
    readonly isUsable: boolean;
    readonly set?: string;
  }[];
}

export function lookAtAgents(about: LookAtAgents): readonly AgentFinding[] {
  const sandbox = detectSandbox(about.environment);
  return knownAgents.map((agent): AgentFinding => {
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
      version: program && versionOf(program),
      problem: obstacleTo({ agent }, environment, sandbox) ?? null,
      provider: usable?.provider ?? null,
      ...(usable === undefined && set !== undefined && { set }),
      hasLogin: login === null ? null : login.files.some((file) => existsSync(join(home, file))),
    };
  });
}

/**
 * The version in the package of a program. The program itself is not asked: some take seconds to start,
 * and one that is started here is in no sandbox.
 */
function versionOf({ file }: Program): string | null {
  let folder = dirname(file);
  for (let up = 0; up < mostFolders && folder !== dirname(folder); up++) {
    try {
      const value: unknown = parseJson(readFileSync(join(folder, "package.json"), "utf8"));
      const version = isRecord(value) ? value["version"] : undefined;
      return typeof version === "string" ? headOf(version, 40) : null;
    } catch {
      folder = dirname(folder);
    }
  }
  return null;
}

/** A program lies so deep in its package at most. */
const mostFolders = 4;
