import type { Program } from "../../processes/find-program.ts";
import { isolation, mountPolicy, showSystem } from "./bubblewrap-arguments.ts";
import { onlyInside } from "./only-inside.ts";
import type { Sandbox } from "./sandbox.ts";

export interface BubblewrapOptions {
  readonly program: Program;
  readonly version: string;
  /** Whether namespaces can be forbidden inside; older ones cannot. */
  readonly closesNamespaces: boolean;
  /** Shown read-only, besides what every machine has. */
  readonly programFolders: readonly string[];
  /** On system calls; undefined where this architecture has none. */
  readonly filter: Uint8Array | undefined;
}

const withoutFilter = `, without a filter on system calls, since there is none for ${process.arch}`;

export function createBubblewrap(options: BubblewrapOptions): Sandbox {
  const { program, programFolders, filter } = options;
  const fixed = [
    ...isolation,
    ...(options.closesNamespaces ? ["--disable-userns"] : []),
    ...(filter === undefined ? [] : ["--seccomp", "4"]),
    ...showSystem(programFolders),
  ];
  return {
    name: `bubblewrap ${options.version}${filter === undefined ? withoutFilter : ""}`,
    wrap(policy, argv, cwd) {
      const { args, sources, placeholders } = mountPolicy(policy, programFolders);
      // Looked at before it is mounted: what is mounted then has to be the same.
      const checked = onlyInside(policy, sources, argv);
      const network = policy.network ? [] : ["--unshare-net"];
      const status = ["--json-status-fd", "3", "--chdir", cwd, "--"];
      return {
        program,
        args: [...fixed, ...network, ...args, ...status, ...checked],
        placeholders,
        ...(filter !== undefined && { filter }),
      };
    },
  };
}
