import { MandateError } from "../../ports/mandate-error.ts";
import { headOf } from "../../text.ts";

/** Why git gave no answer. `exit`: git ran and failed; all others: git was not run to its end. */
type GitFailureKind = "missing" | "too-old" | "timeout" | "output-too-large" | "aborted" | "exit";

/** A git command that failed. It is not retried. */
export class GitFailure extends Error {
  readonly kind: GitFailureKind;
  /** The subcommand, for messages: the full argument list can hold thousands of paths. */
  readonly command: string;
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(
    kind: GitFailureKind,
    command: string,
    details: { readonly exitCode?: number | null; readonly stderr?: string } = {},
    options?: ErrorOptions,
  ) {
    super(sentenceOf(kind, command, details.stderr ?? ""), options);
    this.name = "GitFailure";
    this.kind = kind;
    this.command = command;
    this.exitCode = details.exitCode ?? null;
    this.stderr = details.stderr ?? "";
  }
}

function sentenceOf(kind: GitFailureKind, command: string, stderr: string): string {
  const said = headOf(stderr.trim(), 500);
  switch (kind) {
    case "missing":
      return (
        said || "The git program was not found. Install git 2.38 or newer and put it on the PATH."
      );
    case "too-old":
      return `The git program here is ${said}, and 2.38 or newer is needed. Update git.`;
    case "timeout":
      return `git ${command} did not finish in time and was ended. Is the repository very large, or its disk slow?`;
    case "output-too-large":
      return `git ${command} wrote more than is read. The repository has more entries than are served.`;
    case "aborted":
      return `git ${command} was cancelled.`;
    case "exit":
      return `git ${command} failed${said === "" ? "." : `: ${said}`}`;
    default:
      return kind satisfies never;
  }
}

/** Why a folder, in its current state, cannot be copied for a child or be the target of a merge. */
export type RefusalCode =
  | "bare"
  | "inside-git-directory"
  | "foreign-owner"
  | "work-tree-elsewhere"
  | "foreign-git-directory"
  | "unusual-path"
  | "corrupt"
  | "unreadable"
  | "locked"
  | "operation-in-progress"
  | "sparse-checkout"
  | "case-collision"
  | "too-large"
  | "changed-meanwhile"
  | "copy-exists"
  | "copy-unknown"
  | "range-unknown"
  | "bundle-damaged"
  | "journal-damaged";

export interface RepositoryRefusal {
  readonly code: RefusalCode;
  /** The error for people: what happened, to which path, and what to do next. */
  readonly sentence: string;
  readonly paths?: readonly string[];
}

/** Thrown before anything was created, or after everything that was created has been removed. */
export class RepositoryRefused extends MandateError {
  readonly refusal: RepositoryRefusal;

  constructor(refusal: RepositoryRefusal, options?: ErrorOptions) {
    super("usage", refusal.sentence, options);
    this.name = "RepositoryRefused";
    this.refusal = refusal;
  }
}

/** The first names of a list, for a sentence. */
export function namesOf(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => `"${path}"`);
  const more = paths.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** Turns a failure of git into a refusal that names the place. Other errors are returned as they are. */
export function explainGitFailure(error: unknown, toplevel: string): unknown {
  if (!(error instanceof GitFailure)) return error;
  if (error.kind === "output-too-large") {
    const sentence = `The workspace "${toplevel}" has more files than are copied. Ignore what is not needed in .gitignore, or choose a smaller folder.`;
    return new RepositoryRefused({ code: "too-large", sentence }, { cause: error });
  }
  if (error.kind !== "exit") return error;
  const said = error.stderr.trim().split("\n").slice(0, 3);
  const isDamage = /invalid object|bad object|missing|corrupt|inflate|loose object/.test(
    error.stderr,
  );
  const next = isDamage ? "Run git fsck in it, and repair it." : "Check its permissions.";
  const sentence = `The workspace "${toplevel}" cannot be read: ${namesOf(said)}. ${next}`;
  const code = isDamage ? "corrupt" : "unreadable";
  return new RepositoryRefused({ code, sentence }, { cause: error });
}
