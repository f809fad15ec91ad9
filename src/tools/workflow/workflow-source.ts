import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readTextFile } from "../../agents/documents/read-text-file.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import { type Environment, userHomeOf } from "../../control/places.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { clip } from "../../text.ts";
import {
  describeProblem,
  longestWorkflow,
  type ParseOptions,
  parseWorkflow,
  type WorkflowMeta,
} from "./parse-workflow.ts";

/** A file of a folder of workflows. */
export interface WorkflowFile {
  readonly file: string;
  /** Where it was found, for people: "project", "user", or the name of a plugin. */
  readonly origin: string;
  readonly script: string;
  /** The hash of the script. */
  readonly hash: string;
  /** The author of the script is the person, or the person trusts exactly this content. */
  readonly isTrusted: boolean;
}

export type FoundWorkflow = WorkflowFile &
  (
    | { readonly name: string; readonly meta: WorkflowMeta }
    /** A file that cannot run: where and why. */
    | { readonly name: null; readonly problem: string }
  );

export type UsableWorkflow = Extract<FoundWorkflow, { readonly meta: WorkflowMeta }>;

interface SourceOptions {
  readonly environment: Environment;
  /** The hashes of trusted content. */
  readonly trusted: () => ReadonlySet<string>;
  /** Workflows of the workspace count as trusted. */
  readonly trustWorkspace?: boolean;
}

/** The workflow scripts of a machine. */
export class WorkflowSource {
  readonly #of: SourceOptions;

  constructor(options: SourceOptions) {
    this.#of = options;
  }

  /** All files, the nearest first; of equal names the first counts. */
  files(root: string | null, options?: ParseOptions): readonly FoundWorkflow[] {
    return foldersFor(root, this.#of.environment).flatMap(({ folder, ...about }) =>
      scriptsIn(folder).map((file) => this.#read(file, about, options)),
    );
  }

  /** The file of this name, as a list has it: that of `meta`, and not of the file. */
  named(name: string, root: string | null, options?: ParseOptions): UsableWorkflow {
    const all = this.files(root, options).filter((one): one is UsableWorkflow => one.name !== null);
    const found = all.find((one) => one.name === name);
    if (found !== undefined) return found;
    const known = [...new Set(all.map((one) => one.name))].slice(0, 20).join(", ");
    throw refusal(`There is no workflow "${clip(name, 200)}". Known: ${known || "none"}.`);
  }

  /** Any file, by its path. */
  read(file: string, options?: ParseOptions): FoundWorkflow {
    return this.#read(file, { origin: "file" }, options);
  }

  /** The file at this path. Throws "workflow-invalid" with the place of a problem. */
  at(file: string, options?: ParseOptions): UsableWorkflow {
    const found = this.read(file, options);
    if (found.name !== null) return found;
    throw refusal(found.problem);
  }

  /** The script that another one names: by name, or by `{ scriptPath }` below the folder of its run. */
  child(ref: unknown, root: string | null): UsableWorkflow {
    const path = (ref as { readonly scriptPath?: unknown } | null)?.scriptPath;
    const found =
      typeof path === "string" ? this.#below(path, root) : this.named(String(ref), root);
    // Before its problem: that quotes the file, which may be anything that this process can read.
    if (!found.isTrusted)
      throw refusal(`${found.file} is not trusted: see mandate workflow check.`);
    if (found.name !== null) return found;
    throw refusal(found.problem);
  }

  #below(path: string, root: string | null): FoundWorkflow {
    const file = resolve(root ?? "/", path);
    if (root !== null && isBelow(file, root) && isBelow(placeOf(file), placeOf(root))) {
      return this.read(file);
    }
    throw refusal(`"${clip(path, 200)}" is not in the folder of this run.`);
  }

  #read(
    file: string,
    { isOwn = false, origin, prefix = "" }: Omit<WorkflowFolder, "folder">,
    options?: ParseOptions,
  ): FoundWorkflow {
    const bytes = { code: "workflow-invalid", maximumBytes: 4 * longestWorkflow } as const;
    let script = "";
    try {
      script = readTextFile(file, bytes);
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      const nothing = { script, hash: "", isTrusted: false };
      return { file, origin, ...nothing, name: null, problem: error.message };
    }
    const hash = sha256(script);
    const isTrusted = isOwn || this.#of.trustWorkspace === true || this.#of.trusted().has(hash);
    const about = { file, origin, script, hash, isTrusted };
    const parsed = parseWorkflow(script, options);
    if ("problem" in parsed) {
      return { ...about, name: null, problem: describeProblem(file, parsed.problem) };
    }
    return { ...about, name: `${prefix}${parsed.meta.name}`, meta: parsed.meta };
  }
}

function refusal(message: string): MandateError {
  return new MandateError("workflow-invalid", message);
}

/** Where links lead to. Where nothing is, the path itself. */
function placeOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

interface WorkflowFolder {
  readonly folder: string;
  /** The origin of a plugin for people: a plugin chooses its name itself. */
  readonly origin: string;
  readonly prefix?: string;
  /** The person wrote what is in it. */
  readonly isOwn?: boolean;
}

/** From the folder up to the root of its repository, then the person's, then plugins. */
function foldersFor(root: string | null, environment: Environment): readonly WorkflowFolder[] {
  const home = environment["CLAUDE_CONFIG_DIR"] || join(userHomeOf(environment), ".claude");
  const own = { folder: join(home, "workflows"), origin: "user", isOwn: true };
  const folders: WorkflowFolder[] = [];
  if (root !== null) {
    for (let at = resolve(root); ; at = dirname(at)) {
      for (const name of [".mandate", ".claude"]) {
        const folder = join(at, name, "workflows");
        // The person's own folder stays the person's, also for work in the home folder.
        if (folder !== own.folder) folders.push({ folder, origin: "project" });
      }
      if (at === dirname(at) || existsSync(join(at, ".git")) || !isInRepository(at)) break;
    }
  }
  return [...folders, own, ...pluginFolders(join(home, "plugins"))];
}

function isInRepository(folder: string): boolean {
  if (existsSync(join(folder, ".git"))) return true;
  return folder !== dirname(folder) && isInRepository(dirname(folder));
}

/** Directly in the folder, in the order of their names. */
function scriptsIn(folder: string): readonly string[] {
  return entriesOf(folder)
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(folder, name));
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort().slice(0, mostEntries);
  } catch {
    return [];
  }
}

const mostEntries = 1000;
const deepestPlugin = 4;

/** Plugins have a manifest; it can name another folder inside the plugin. */
function pluginFolders(folder: string, depth = 0): readonly WorkflowFolder[] {
  const manifest = readManifest(join(folder, ".claude-plugin", "plugin.json"));
  if (manifest === undefined) {
    if (depth === deepestPlugin) return [];
    return entriesOf(folder).flatMap((name) => pluginFolders(join(folder, name), depth + 1));
  }
  const { name, workflows = "workflows" } = manifest;
  const named = Array.isArray(workflows) ? workflows : [workflows];
  return named.flatMap((path: unknown) => {
    const place = typeof path === "string" ? resolve(folder, path) : folder;
    if (!isBelow(place, folder) || place === folder) return [];
    return [{ folder: place, origin: String(name), prefix: `${String(name)}:` }];
  });
}

function readManifest(
  file: string,
): { readonly name?: unknown; readonly workflows?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
