import { helperEnvironment, personalFolders } from "../../processes/program-environment.ts";

/** How far a command may look around. */
export interface GitContext {
  /** Which repository, explicitly: no discovery, and no `.git` of a work tree is ever read. */
  readonly gitDirectory?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Seconds since 1970, for the commits that are made; absent: now. */
  readonly date?: number;
  /**
   * Reads the person's own configuration as well, for `git config` and for discovery, which
   * honours their `safe.directory`. Never together with a command that touches files.
   */
  readonly withPersonalConfiguration?: boolean;
}

const nowhere = process.platform === "win32" ? "NUL" : "/dev/null";

/**
 * Settings that stand above every file git reads, so that a repository's own configuration has no
 * say: nothing of it is run, nothing converts bytes on their way in or out, and nothing reaches
 * for a network.
 */
const settings: readonly string[] = [
  // What would run a program.
  `core.hooksPath=${nowhere}`,
  "core.fsmonitor=false",
  "core.pager=cat",
  "core.editor=false",
  "core.askPass=",
  "core.sshCommand=false",
  "core.gitProxy=false",
  "core.alternateRefsCommand=false",
  "credential.helper=",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gpg.program=false",
  "gpg.ssh.program=false",
  "gpg.x509.program=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "submodule.recurse=false",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
  // What would change bytes or names.
  "core.autocrlf=false",
  "core.eol=lf",
  "core.safecrlf=false",
  "core.fileMode=true",
  "core.symlinks=true",
  "core.ignoreCase=false",
  "core.precomposeUnicode=false",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  `core.attributesFile=${nowhere}`,
  `core.excludesFile=${nowhere}`,
  "core.sparseCheckout=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.quotePath=false",
  // What would make two machines merge differently.
  "merge.renames=true",
  "merge.directoryRenames=false",
  "merge.renormalize=false",
  "merge.conflictStyle=merge",
  "diff.renames=false",
  "diff.algorithm=myers",
  // One flush for many objects: as durable, and fast enough to wait for.
  "core.fsyncMethod=batch",
  "core.compression=1",
  "checkout.workers=2",
  "checkout.thresholdForParallelism=500",
];

export const gitOptions: readonly string[] = [
  "--no-pager",
  "--no-replace-objects",
  ...settings.flatMap((setting) => ["-c", setting]),
];

/** Nothing of our own environment reaches git. */
export function gitEnvironment(context: GitContext): Record<string, string> {
  const environment: Record<string, string> = {
    ...helperEnvironment(),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    // Neither is known to every git, and a repository can lift protocol.allow for a protocol: what
    // is missing must not be fetched by a program that the repository names.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Mandate",
    GIT_AUTHOR_EMAIL: "mandate@localhost",
    GIT_COMMITTER_NAME: "Mandate",
    GIT_COMMITTER_EMAIL: "mandate@localhost",
  };
  if (context.withPersonalConfiguration === true) {
    const { home, configuration } = personalFolders();
    if (home !== undefined) environment["HOME"] = home;
    if (configuration !== undefined) environment["XDG_CONFIG_HOME"] = configuration;
  } else {
    environment["HOME"] = "/nonexistent";
    environment["GIT_CONFIG_NOSYSTEM"] = "1";
    environment["GIT_CONFIG_GLOBAL"] = nowhere;
  }
  if (context.gitDirectory !== undefined) environment["GIT_DIR"] = context.gitDirectory;
  if (context.workTree !== undefined) environment["GIT_WORK_TREE"] = context.workTree;
  if (context.indexFile !== undefined) environment["GIT_INDEX_FILE"] = context.indexFile;
  if (context.date !== undefined) {
    environment["GIT_AUTHOR_DATE"] = `@${context.date} +0000`;
    environment["GIT_COMMITTER_DATE"] = `@${context.date} +0000`;
  }
  return environment;
}
