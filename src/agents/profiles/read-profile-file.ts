import { realpathSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { isBelow } from "../../contracts/write-roots.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { readRegularFile, whyUnread } from "../documents/read-text-file.ts";
import { maximumProfileBytes, parseDataProfile, parseMarkdownProfile } from "./profile-document.ts";
import { contentHash, hashPromptFiles } from "./profile-hash.ts";
import { type ProfileLayer, standingOf } from "./profile-layer.ts";

/** A folder of profiles. Its owner decides whether its files need trust. */
export interface ProfileFolder {
  readonly path: string;
  /** The name of the folder for people: "built in", "workspace". */
  readonly origin: string;
  /** Follow links that leave the folder. Only for folders that the operator alone writes. */
  readonly followLinks?: boolean;
  /**
   * The folder belongs to a project: its files have no effect until they are trusted, and block no
   * name before.
   */
  readonly project?: ProjectFolder;
}

export interface ProjectFolder {
  /** The workspace; prompt files of its profiles are relative to it. */
  readonly root: string;
  /** A program trusts the whole workspace. */
  readonly isTrusted: boolean;
}

export interface ProfileProblem {
  /** The name that this problem blocks. */
  readonly name: string;
  readonly file: string;
  readonly message: string;
  /** The problem blocks no name: another profile of that name can be used. */
  readonly isHarmless?: boolean;
  /** The content of this source is unknown, and could narrow every name. */
  readonly isAboutAll?: boolean;
}

/** The file name endings of our own formats. */
export const profileFile = /\.(?:md|json|ya?ml)$/i;

/** Reads one file of a profile folder: its layer, or the reason why it cannot be used. */
export function readProfileFile(
  folder: ProfileFolder,
  path: string,
): { readonly layer: ProfileLayer } | { readonly problem: ProfileProblem } {
  let bytes: Buffer | undefined;
  try {
    if (folder.followLinks !== true) requireNoWayOut(folder.path, path);
    bytes = readRegularFile(path, maximumProfileBytes);
    const parse = extname(path).toLowerCase() === ".md" ? parseMarkdownProfile : parseDataProfile;
    const { fields, name = nameOfFile(path), ...parsed } = parse(bytes, path);
    const origin = `${folder.origin}: ${path}`;
    const layer = { name, fields, origin, ...standingOf(parsed) };
    const { project } = folder;
    if (project === undefined) return { layer };
    return { layer: projectLayer(layer, project, bytes.toString("base64")) };
  } catch (error) {
    const name = claimedName(bytes) ?? stemOf(path);
    const problem = { name, file: path, message: describe(error, path) };
    return { problem: folder.project === undefined ? problem : { ...problem, isHarmless: true } };
  }
}

/**
 * A layer of a project, with the hash that a person trusts: of the content and the prompt files.
 */
export function projectLayer(
  layer: ProfileLayer,
  { isTrusted, root }: ProjectFolder,
  content: string,
): ProfileLayer {
  const projects = { ...layer, isProjects: true } as const;
  if (isTrusted) return projects;
  const promptFiles = hashPromptFiles(root, layer.fields);
  const untrustedHash = contentHash(["profile", layer.name, content, promptFiles]);
  return { ...projects, promptFiles, untrustedHash };
}

/**
 * A link in a repository can point to any file of the machine, and an error message would quote
 * that file.
 */
function requireNoWayOut(directory: string, path: string): void {
  if (isBelow(realpathSync.native(path), realpathSync.native(directory))) return;
  throw new Error("a symbolic link that points outside its folder; copy the file instead");
}

/** The name of a profile without `name`: the file name, if it is a valid name. */
function nameOfFile(path: string): string {
  const stem = stemOf(path);
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(stem)) return stem;
  throw new MandateError("profile-invalid", `${path}:1: "name" is missing`);
}

function stemOf(path: string): string {
  return (path.split(/[\\/]/).at(-1) ?? "").replace(profileFile, "");
}

/** The name that a broken file claims, as far as it can be read. */
function claimedName(bytes: Buffer | undefined): string | undefined {
  const start = bytes?.subarray(0, 16_384).toString("utf8");
  const line = /^[\s{]*"?name"?:[ \t]*["']?([a-z0-9][a-z0-9_-]{0,63})["']?[ \t]*,?(?:#.*)?\r?$/m;
  return line.exec(start ?? "")?.[1];
}

function describe(error: unknown, path: string): string {
  if (error instanceof MandateError) return error.message;
  return `${path}: ${whyUnread(error)}`;
}

/** The profiles of the product: the first source, so that all others override them. */
export const shippedProfiles: ProfileFolder = {
  path: fileURLToPath(new URL("../shipped", import.meta.url)),
  origin: "built in",
};
