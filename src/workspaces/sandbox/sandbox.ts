import type { Program } from "../processes/find-program.ts";

/**
 * What one command may see and touch. Everything that is not named here, or that every program
 * needs to run at all, does not exist for it.
 */
export interface SandboxPolicy {
  /** Absolute, links resolved. Readable, apart from what is forbidden. */
  readonly root: string;
  /** Absolute, at or below the root; without effect unless `allowWrites`. */
  readonly writeRoots: readonly string[];
  readonly allowWrites: boolean;
  /** Neither readable nor writable, wherever it lies: MANDATE_HOME, the user's configuration. */
  readonly forbidden: readonly string[];
  /** Readable where it is visible at all, and not writable: what the next start obeys. */
  readonly guarded: readonly string[];
  /** Sockets of processes outside that lie in the root; shown as files that cannot be opened. */
  readonly sockets?: readonly string[];
  /** Readable beside the root: what a working copy borrows its objects from. */
  readonly visible: readonly string[];
  /**
   * Whether the root's `.git` may be written, apart from what makes git run programs. Only for a
   * working copy that nobody else's git obeys; otherwise all of it is read-only.
   */
  readonly ownsGit: boolean;
  /** The root is thrown away afterwards: nobody obeys what is in it, so nothing needs guarding. */
  readonly isThrowaway?: true;
  readonly network: boolean;
  /** A folder of this delegation alone; its /tmp and its home are kept in it between commands. */
  readonly scratch: string;
}

/** A command line that can be started once its placeholders are there. */
export interface CommandLine {
  readonly program: Program;
  readonly args: readonly string[];
  /**
   * Guarded places that do not exist yet. Only what exists can be covered, so an empty folder has
   * to be there for as long as a command could create something else.
   */
  readonly placeholders: readonly string[];
  /** What the sandbox reads from descriptor 4 before the command begins; absent: nothing. */
  readonly filter?: Uint8Array;
}

/** A way of this machine to hold a command to a policy. */
export interface Sandbox {
  /** How people call it: "bubblewrap 0.8.0". */
  readonly name: string;
  /**
   * The command under the policy. Whoever starts it gives it a pipe as descriptor 3, on which the
   * process that everything else descends from is named: killing that one ends all of them.
   */
  wrap(policy: SandboxPolicy, argv: readonly string[], cwd: string): CommandLine;
}

/** Where programs find their home inside a sandbox, whoever runs it. */
export const homeInside = "/home/agent";
