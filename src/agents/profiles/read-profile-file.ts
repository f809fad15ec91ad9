import { realpathSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { isBelow } from "../../contracts/write-roots.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { readRegularFile } from "../documents/read-text-file.ts";
import { maximumProfileBytes, parseDataProfile, parseMarkdownProfile } from "./profile-document.ts";
import { contentHash, hashPromptFiles } from "./profile-hash.ts";
import type { ProfileLayer } from "./profile-layer.ts";

/** Whose files a folder holds, which decides what they need before they count. */
export interface ProfileFolder {
  readonly path: string;
  /** What people call this place: "built in", "workspace". */
  readonly origin: string;
  /** Follow links that leave the folder. For folders that only the operator writes. */
  readonly followLinks?: boolean;
  /** It is a project's: its files count once they are trusted, and block nothing before. */
  readonly project?: ProjectFolder;
}

export interface ProjectFolder {
  /** The workspace, below which its profiles name files for their prompts. */
  readonly root: string;
  /** A program said that what is in the workspace counts. */
  readonly isTrusted: boolean;
}

export interface ProfileProblem {
  /** The name that cannot be used because of it. */
  readonly name: string;
  readonly file: string;
  readonly message: string;
  /** It says only why a name is missing: another profile of that name can be used. */
  readonly isHarmless?: boolean;
  /** The content of this place is unknown, and it may narrow any name. */
  readonly isAboutAll?: boolean;
}

/** The endings of profile files in our own formats. */
export const profileFile = /\.(?:md|json|ya?ml)$/i;

/** One file of a profile folder: what it says, or why it cannot be used and as what. */
export function readProfileFile(
  folder: ProfileFolder,
  path: string,
): { readonly layer: ProfileLayer } | { readonly problem: ProfileProblem } {
  let bytes: Buffer | undefined;
  try {
    if (folder.followLinks !== true) requireNoWayOut(folder.path, path);
    bytes = readRegularFile(path, maximumProfileBytes);
    const parse = extname(path).toLowerCase() === ".md" ? parseMarkdownProfile : parseDataProfile;
    const { name, fields } = parse(bytes, path);
    const origin = `${folder.origin}: ${path}`;
    const layer = { name: name ?? nameOfFile(path), fields, origin };
    const { project } = folder;
    if (project === undefined) return { layer };
    return { layer: projectLayer(layer, project, bytes.toString("base64")) };
  } catch (error) {
    const name = claimedName(bytes) ?? stemOf(path);
    const problem = { name, file: path, message: describe(error, path) };
    return { problem: folder.project === undefined ? problem : { ...problem, isHarmless: true } };
  }
}

/** A layer of a project, with the hash of all that it is made of: that is what a person trusts. */
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

/** A repository can hold a link to any file of the machine; an error message would quote it. */
function requireNoWayOut(directory: string, path: string): void {
  if (isBelow(realpathSync.native(path), realpathSync.native(directory))) return;
  throw new Error("a symbolic link that points outside its folder; copy the file instead");
}

/** A file without a name is called what its file is called, when that can be a name. */
function nameOfFile(path: string): string {
  const stem = stemOf(path);
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(stem)) return stem;
  throw new MandateError("profile-invalid", `${path}:1: "name" is missing`);
}

function stemOf(path: string): string {
  return (path.split(/[\\/]/).at(-1) ?? "").replace(profileFile, "");
}

/** The name a broken file was meant for, as far as that can be told. */
function claimedName(bytes: Buffer | undefined): string | undefined {
  const start = bytes?.subarray(0, 16_384).toString("utf8");
  const line = /^[\s{]*"?name"?:[ \t]*["']?([a-z0-9][a-z0-9_-]{0,63})["']?[ \t]*,?(?:#.*)?\r?$/m;
  return line.exec(start ?? "")?.[1];
}

function describe(error: unknown, path: string): string {
  if (error instanceof MandateError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return `${path}: ${code === undefined ? message : `cannot be read (${code})`}`;
}

/** The profiles that come with the product: the first place to look, so that all others win. */
export const shippedProfiles: ProfileFolder = {
  path: fileURLToPath(new URL("../shipped", import.meta.url)),
  origin: "built in",
};
