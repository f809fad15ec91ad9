import { GitFailure } from "./git-failure.ts";
import { namesOf, RepositoryRefused } from "./repository-refusal.ts";

/** What git said about a place, as a refusal that names it. Anything else as it is. */
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
  const next = isDamage ? "Run git fsck in it, and mend it." : "Check its permissions.";
  const sentence = `The workspace "${toplevel}" cannot be read: ${namesOf(said)}. ${next}`;
  const code = isDamage ? "corrupt" : "unreadable";
  return new RepositoryRefused({ code, sentence }, { cause: error });
}
