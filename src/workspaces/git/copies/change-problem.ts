import { namesOf } from "../repository-refusal.ts";

/** What a child left behind that cannot be taken over. */
export type ChangeProblemKind =
  | "nested-repository"
  | "embedded-repository"
  | "submodule"
  | "special-file"
  | "escaping-link"
  | "control-name"
  | "control-link"
  | "unreadable-name"
  | "hidden-name"
  | "case-collision"
  | "outside-workspace"
  | "too-large"
  | "too-many";

export interface ChangeProblem {
  readonly kind: ChangeProblemKind;
  /** Relative to the workspace, as its tools name them. */
  readonly paths: readonly string[];
  readonly sentence: string;
}

const sentences: Record<ChangeProblemKind, (names: string) => string> = {
  "nested-repository": (names) =>
    `${names} has a .git of its own. Remove it, so that its files can be taken over.`,
  "embedded-repository": (names) =>
    `${names} looks like a repository to git (HEAD, objects and refs), and whoever runs git there obeys its configuration. Use other names.`,
  submodule: (names) => `${names} is a submodule, and nothing can be changed in it from outside.`,
  "special-file": (names) => `${names} is a pipe, a socket or a device, and no file.`,
  "escaping-link": (names) => `${names} is a symbolic link that leads out of the workspace.`,
  "control-name": (names) => `${names} is a name that git keeps for itself, in some spelling.`,
  "control-link": (names) => `${names} controls git and must be a file, not a symbolic link.`,
  "unreadable-name": (names) => `${names} is a name that is not valid UTF-8.`,
  "hidden-name": (names) =>
    `${names} has a control character or another hidden character in its name. Rename it.`,
  "case-collision": (names) => `${names}: some file systems cannot tell these names apart.`,
  "outside-workspace": (names) => `${names} lies outside the workspace.`,
  "too-large": (names) => `${names} is larger than what is taken over.`,
  "too-many": (names) => `More has changed than is taken over: ${names}.`,
};

export function changeProblem(kind: ChangeProblemKind, paths: readonly string[]): ChangeProblem {
  return { kind, paths, sentence: sentences[kind](namesOf(paths)) };
}
