import { parse } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";

/**
 * How agents may work in a folder. `copy`: in a working copy, and a person approves the changes
 * before they reach the folder.
 */
export type ConsentMode = "in-place" | "copy" | "read-only";

/** From the one that allows most to the one that allows least. */
export const consentModes: readonly ConsentMode[] = ["in-place", "copy", "read-only"];

/** What a person answered for a folder and everything below it. */
export interface RememberedConsent {
  /** A real path. */
  readonly folder: string;
  readonly mode: ConsentMode;
  /** The user id that owned the folder then; null where the system has none. */
  readonly owner: number | null;
}

export interface ConsentQuestion {
  /** A real path: links are resolved by the caller, who has the file system. */
  readonly folder: string;
  readonly owner: number | null;
  readonly remembered: readonly RememberedConsent[];
  /** The answer that a person gave with this call. */
  readonly answer?: ConsentMode | undefined;
  /** The call names the folder, and that counts as consent: a program's own call, or a server's. */
  readonly isNamed?: boolean | undefined;
  /** The caller insists on a folder that is too broad. */
  readonly force?: boolean | undefined;
  /** A person at a terminal can be asked. */
  readonly canAsk?: boolean | undefined;
  /** Real paths: the user's home folder, Mandate's own data and configuration. */
  readonly personal: readonly PersonalFolder[];
}

export interface PersonalFolder {
  readonly folder: string;
  /** For the sentence: "your home folder". */
  readonly what: string;
}

/** An answer is remembered; a name and force count for the process that used them. */
export type ConsentSource = "answer" | "memory" | "name" | "force";

export type ConsentDecision =
  | { readonly kind: "allowed"; readonly mode: ConsentMode; readonly because: ConsentSource }
  | { readonly kind: "ask" }
  | { readonly kind: "refused"; readonly sentence: string };

/**
 * Whether agents may work in a folder, and how. A broad folder needs `force`, which counts for the
 * call alone: it is never remembered, so it never covers the folders below. An answer replaces what
 * was remembered; naming a folder does not.
 */
export function decideConsent(question: ConsentQuestion): ConsentDecision {
  const { answer, folder, force, personal } = question;
  const breadth = breadthOf(folder, personal);
  if (breadth !== undefined) {
    if (force !== true) return { kind: "refused", sentence: tooBroad(folder, breadth) };
    return { kind: "allowed", mode: answer ?? "in-place", because: "force" };
  }
  if (answer !== undefined) return { kind: "allowed", mode: answer, because: "answer" };
  const mode = rememberedMode(question);
  if (mode !== undefined) return { kind: "allowed", mode, because: "memory" };
  if (question.isNamed === true) return { kind: "allowed", mode: "in-place", because: "name" };
  return question.canAsk === true
    ? { kind: "ask" }
    : { kind: "refused", sentence: noConsent(folder) };
}

/** The mode that allows less. */
export function narrowerMode(left: ConsentMode, right: ConsentMode): ConsentMode {
  return consentModes.indexOf(left) > consentModes.indexOf(right) ? left : right;
}

/** What a folder holds that no project folder holds; undefined: it is an ordinary folder. */
export function breadthOf(folder: string, personal: readonly PersonalFolder[]): string | undefined {
  if (parse(folder).root === folder) return "the whole file system";
  return personal.find((one) => isBelow(one.folder, folder))?.what;
}

/**
 * The nearest folder above decides, so that a part of a project can have an answer of its own. A
 * folder that belongs to another user than the one it belonged to is a different folder.
 */
function rememberedMode({
  folder,
  owner,
  personal,
  remembered,
}: ConsentQuestion): ConsentMode | undefined {
  const covering = remembered.filter(
    (one) =>
      one.owner === owner &&
      isBelow(folder, one.folder) &&
      breadthOf(one.folder, personal) === undefined,
  );
  return covering.sort((left, right) => right.folder.length - left.folder.length)[0]?.mode;
}

function tooBroad(folder: string, breadth: string): string {
  return (
    `${JSON.stringify(folder)} holds ${breadth}, and agents could read or change all of it. ` +
    "Choose a project folder, or give --force to work there for this call (in the library: force: true)."
  );
}

function noConsent(folder: string): string {
  return (
    `Work in ${JSON.stringify(folder)} needs your consent first. Start a run there at a terminal and answer once, ` +
    "run mandate init there, or give --trust-folder (in place), --trust-folder=copy (you review the changes) " +
    "or --trust-folder=read-only."
  );
}
