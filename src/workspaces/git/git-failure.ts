import { headOf } from "../../text.ts";

/** What kept git from answering. `exit`: it ran and said no; the others: it did not come to that. */
export type GitFailureKind =
  | "missing"
  | "too-old"
  | "timeout"
  | "output-too-large"
  | "aborted"
  | "exit";

/** A git command that did not do what was asked. Nothing is retried, nothing guessed from it. */
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
