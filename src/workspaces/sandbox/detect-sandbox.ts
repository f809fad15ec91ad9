import { statSync } from "node:fs";
import { headOf } from "../../text.ts";
import {
  describeMissing,
  findSystemProgram,
  namedProgram,
  type Program,
  type ProgramFinding,
} from "../processes/find-program.ts";
import { helperEnvironment } from "../processes/program-environment.ts";
import { runToEnd } from "../processes/start-program.ts";
import { createBubblewrap, isolation, showSystem } from "./bubblewrap.ts";
import { findProgramPlaces, type ProgramPlaces, type Sandbox } from "./sandbox.ts";
import { createSeatbelt } from "./seatbelt.ts";
import { systemCallFilter } from "./system-call-filter.ts";

export type SandboxFinding =
  | { readonly isUsable: true; readonly sandbox: Sandbox; readonly programs: ProgramPlaces }
  | {
      readonly isUsable: false;
      /** Why not, and what to do. */
      readonly problem: string;
      readonly programs: ProgramPlaces;
    };

export interface DetectionOptions {
  readonly platform?: NodeJS.Platform;
  /** The path of another bubblewrap than the installed one. */
  readonly program?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const found = new Map<string, SandboxFinding>();

/**
 * Whether commands can be sandboxed on this machine. It is tried: an installed program may still be
 * forbidden to create namespaces. Cached for each PATH and home; takes about 20 ms.
 */
export function detectSandbox(
  environment: Environment,
  { platform = process.platform, program }: DetectionOptions = {},
): SandboxFinding {
  const named = program ?? findSystemProgram("bwrap", environment["PATH"]);
  const names = ["PATH", "HOME", "MANDATE_SEATBELT"];
  const key = JSON.stringify([platform, named, ...names.map((name) => environment[name])]);
  const known = found.get(key) ?? detect(environment, platform, program);
  found.set(key, known);
  return known;
}

/** Whether offering a tool that needs a sandbox makes sense. Does not try it. */
export function mayHaveSandbox(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (platform === "darwin") return environment["MANDATE_SEATBELT"] === "1";
  return platform === "linux" && findSystemProgram("bwrap", environment["PATH"]).isFound;
}

function detect(
  environment: Environment,
  platform: NodeJS.Platform,
  chosen: string | undefined,
): SandboxFinding {
  const programs = findProgramPlaces(environment);
  if (platform === "darwin" && environment["MANDATE_SEATBELT"] === "1") {
    const program = namedProgram("/usr/bin/sandbox-exec");
    const tried = run(program, ["-p", "(version 1) (allow default)", "/usr/bin/true"]);
    if (!tried.worked) return none(`sandbox-exec does not work here: ${headOf(tried.output, 200)}`);
    const sandbox = createSeatbelt(program, programs.folders);
    return { isUsable: true, sandbox, programs };
  }
  if (platform !== "linux") {
    return none("The sandbox (bubblewrap) exists for Linux only, and this is not Linux.");
  }
  const finding = findBubblewrap(environment, chosen);
  if (!finding.isFound) {
    const advice = "Install it, for instance: apt install bubblewrap.";
    return none(
      finding.refused === null
        ? `bubblewrap is not installed. ${advice}`
        : `${describeMissing("bwrap", finding.refused)} ${advice}`,
    );
  }
  const { program } = finding;
  const asked = run(program, ["--version"]);
  const version = /\d+(?:\.\d+)+/.exec(asked.output)?.[0] ?? "of unknown version";
  const system = showSystem([]);
  const filter = systemCallFilter();
  for (const closesNamespaces of [true, false]) {
    const extra = closesNamespaces ? ["--disable-userns"] : [];
    // Where a filter exists, commands do not run without it.
    const filtered = filter === undefined ? [] : ["--seccomp", "0"];
    const mounts = [...system, "--proc", "/proc", "--dev", "/dev"];
    const words = [...isolation, ...extra, ...filtered, ...mounts, "--", "/bin/sh", "-c", ":"];
    const tried = run(program, words, filter);
    if (tried.worked) {
      const { folders: programFolders } = programs;
      const options = {
        program,
        version,
        closesNamespaces,
        programFolders,
        isFiltered: filter !== undefined,
      };
      return { isUsable: true, sandbox: createBubblewrap(options), programs };
    }
    if (!closesNamespaces) return none(explain(program, tried.output));
  }
  return none("bubblewrap could not be tried.");

  function none(problem: string): SandboxFinding {
    return { isUsable: false, problem, programs };
  }
}

function findBubblewrap(environment: Environment, chosen: string | undefined): ProgramFinding {
  if (chosen === undefined) return findSystemProgram("bwrap", environment["PATH"]);
  return statSync(chosen, { throwIfNoEntry: false })?.isFile() === true
    ? { isFound: true, program: namedProgram(chosen) }
    : { isFound: false, refused: null };
}

function run(
  program: Program,
  args: readonly string[],
  input?: Uint8Array,
): { worked: boolean; output: string } {
  const start = { program, args, environment: helperEnvironment() };
  const options = { timeoutMs: 10_000, ...(input !== undefined && { input }) };
  const { code, stdout, stderr, error } = runToEnd(start, options);
  // A process that ends before it has read its input breaks the pipe; its output says more.
  const output = `${stdout}${stderr}`.trim() || (error?.message ?? "");
  return { worked: code === 0, output };
}

function explain({ file }: Program, output: string): string {
  const said = headOf(output.split("\n").at(-1) ?? "", 200);
  const advice = /permission|permitted|namespace|uid map/i.test(output)
    ? " The system does not let it make namespaces: in a container allow user namespaces; on " +
      "Ubuntu give bwrap an AppArmor profile or set " +
      "kernel.apparmor_restrict_unprivileged_userns=0; elsewhere see user.max_user_namespaces."
    : "";
  if (/seccomp/i.test(output)) {
    return (
      `${file} cannot load its filter on system calls: ${said}. Commands are not run without it. ` +
      "Use a kernel with CONFIG_SECCOMP_FILTER."
    );
  }
  return `${file} does not work here: ${said || "it said nothing"}.${advice}`;
}
