import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { createBubblewrap } from "./bubblewrap.ts";
import { isolation, showSystem } from "./bubblewrap-arguments.ts";
import type { Sandbox } from "./sandbox.ts";
import { findProgramPlaces, type ProgramPlaces } from "./visible-folders.ts";

export type SandboxFinding =
  | { readonly isUsable: true; readonly sandbox: Sandbox; readonly programs: ProgramPlaces }
  | {
      readonly isUsable: false;
      /** Why not, and what to do, in a sentence. */
      readonly problem: string;
      readonly programs: ProgramPlaces;
    };

export interface DetectionOptions {
  readonly platform?: NodeJS.Platform;
  /** Another bubblewrap than the installed one. */
  readonly program?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const found = new Map<string, SandboxFinding>();

/**
 * Whether commands can be held to a policy on this machine: tried, not guessed, since a program
 * that is installed may still be forbidden to make namespaces. Answered once for each PATH and
 * home; takes some 20 ms.
 */
export function detectSandbox(
  environment: Environment,
  { platform = process.platform, program }: DetectionOptions = {},
): SandboxFinding {
  const key = JSON.stringify([platform, program, environment["PATH"], environment["HOME"]]);
  const known = found.get(key) ?? detect(environment, platform, program);
  found.set(key, known);
  return known;
}

/** Without trying: whether it is worth offering what needs one. */
export function mayHaveSandbox(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): boolean {
  return platform === "linux" && findBubblewrap(environment) !== undefined;
}

function detect(
  environment: Environment,
  platform: NodeJS.Platform,
  chosen: string | undefined,
): SandboxFinding {
  const programs = findProgramPlaces(environment);
  if (platform !== "linux") {
    return none("There is a sandbox for Linux only (bubblewrap), and this is not Linux.");
  }
  const program = chosen ?? findBubblewrap(environment);
  if (program === undefined || !isExecutable(program)) {
    return none("bubblewrap is not installed. Install it, for instance: apt install bubblewrap.");
  }
  const asked = run(program, ["--version"]);
  const version = /\d+(?:\.\d+)+/.exec(asked.output)?.[0] ?? "of unknown version";
  const system = showSystem([]);
  for (const closesNamespaces of [true, false]) {
    const extra = closesNamespaces ? ["--disable-userns"] : [];
    const mounts = ["--unshare-net", ...system, "--proc", "/proc", "--dev", "/dev"];
    const tried = run(program, [...isolation, ...extra, ...mounts, "--", "/bin/sh", "-c", ":"]);
    if (tried.worked) {
      const { folders: programFolders } = programs;
      const options = { program, version, closesNamespaces, programFolders };
      return { isUsable: true, sandbox: createBubblewrap(options), programs };
    }
    if (!closesNamespaces) return none(explain(program, tried.output));
  }
  return none("bubblewrap could not be tried.");

  function none(problem: string): SandboxFinding {
    return { isUsable: false, problem, programs };
  }
}

/** The usual places first: PATH may begin with a folder of the workspace. */
function findBubblewrap(environment: Environment): string | undefined {
  const path = (environment["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return ["/usr/bin", "/usr/local/bin", "/bin", ...path]
    .map((folder) => join(folder, "bwrap"))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function run(program: string, args: readonly string[]): { worked: boolean; output: string } {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    env: { PATH: "/usr/bin:/bin" },
    encoding: "utf8",
    timeout: 10_000,
    maxBuffer: 64 * 1024,
  });
  const output = error === undefined ? `${stdout}${stderr}`.trim() : error.message;
  return { worked: status === 0, output };
}

function explain(program: string, output: string): string {
  const said = output.split("\n").at(-1)?.slice(0, 200) ?? "";
  const advice = /permission|permitted|namespace|uid map/i.test(output)
    ? " The system does not let it make namespaces: in a container allow user namespaces; on " +
      "Ubuntu give bwrap an AppArmor profile or set " +
      "kernel.apparmor_restrict_unprivileged_userns=0; elsewhere see user.max_user_namespaces."
    : "";
  return `${program} does not work here: ${said || "it said nothing"}.${advice}`;
}
