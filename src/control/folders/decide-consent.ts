import { parse } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";

/**
 * How agents may work in a folder. `copy`: in a working copy, and a person approves the changes.
 */
export type ConsentMode = "in-place" | "copy" | "read-only";

/** From the mode that allows most to the mode that allows least. */
export const consentModes: readonly ConsentMode[] = ["in-place", "copy", "read-only"];

/** The answer of a person for a folder and everything below it. */
export interface RememberedConsent {
  /** A real path. */
  readonly folder: string;
  readonly mode: ConsentMode;
  /** The user id of the folder's owner at that time; null where the system has none. */
  readonly owner: number | null;
}

export interface ConsentQuestion {
  /** A real path; the caller resolves links. */
  readonly folder: string;
  readonly owner: number | null;
  readonly remembered: readonly RememberedConsent[];
  /** The answer that came with this call. */
  readonly answer?: ConsentMode | undefined;
  /** The call names the folder, which is consent: for a program or a server. */
  readonly isNamed?: boolean | undefined;
  /** The caller accepts a folder that is too broad. */
  readonly force?: boolean | undefined;
  /** A person at a terminal can be asked. */
  readonly canAsk?: boolean | undefined;
  /** Real paths: the user's home folder, Mandate's own data and configuration. */
  readonly personal: readonly PersonalFolder[];
}

export interface PersonalFolder {
  readonly folder: string;
  /** The folder in messages: "your home folder". */
  readonly what: string;
}

/** The origin of the consent. An answer is stored; a name and force apply to the process. */
export type ConsentSource = "answer" | "memory" | "name" | "force";

export type ConsentDecision =
  | { readonly kind: "allowed"; readonly mode: ConsentMode; readonly because: ConsentSource }
  | { readonly kind: "ask" }
  | { readonly kind: "refused"; readonly sentence: string };

/**
 * Decides whether agents may work in a folder, and how. A broad folder needs `force`, which applies
 * to this call alone and is never stored, so it never covers the folders below. An answer replaces
 * a stored one; a named folder does not.
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

/** The reason why a folder is too broad; undefined for an ordinary folder. */
export function breadthOf(folder: string, personal: readonly PersonalFolder[]): string | undefined {
  if (parse(folder).root === folder) return "the whole file system";
  return personal.find((one) => isBelow(one.folder, folder))?.what;
}

/**
 * The stored mode of the nearest folder above, so that a part of a project can have its own. A
 * folder with another owner is a different folder.
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
    `Work in ${JSON.stringify(folder)} needs your consent first. Start a run there at a terminal or on the page and answer once, ` +
    "run mandate init there, or give --trust-folder (in place), --trust-folder=copy (you review the changes) " +
    "or --trust-folder=read-only."
  );
}
