import { readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import type { McpServer } from "../../contracts/mcp-server.ts";
import { reasonOf } from "../../ports/message-of.ts";
import { promptFilesIn } from "./profile-hash.ts";
import type { ProfileLayer } from "./profile-layer.ts";
import {
  type ProfileFolder,
  type ProfileProblem,
  profileFile,
  readProfileFile,
} from "./read-profile-file.ts";

/** The current content of one source. Later sources are merged over earlier ones. */
export interface SourceContent {
  /** Several layers can have one name; trust decides which of them apply. */
  readonly layers: readonly ProfileLayer[];
  readonly problems: readonly ProfileProblem[];
  /**
   * Chooses the layer that applies of several with one name; absent: none applies, and that is a
   * problem.
   */
  readonly choose?: (layers: readonly [ProfileLayer, ...ProfileLayer[]]) => ProfileLayer;
}

/** A source of profiles. `read` returns the same object while nothing has changed. */
export interface ProfileSource {
  read(): SourceContent;
}

/** Layers that do not change: inline configuration, profiles of a program. */
export function fixedSource(layers: readonly ProfileLayer[]): ProfileSource {
  const content = { layers, problems: [] };
  return { read: () => content };
}

/** Far more than real projects have. A folder with more is an attack or an error. */
const maximumFiles = 10_000;

interface KnownFile {
  readonly stamp: string;
  readonly read: ReturnType<typeof readProfileFile>;
  /** The last valid version, which stays in use after an edit that breaks the file. */
  readonly lastGood: ProfileLayer | undefined;
  /** The workspace files that are part of its prompt. */
  readonly beside: readonly string[];
}

interface Listing {
  /** Undefined: the folder cannot be listed, and its files do not count as deleted. */
  readonly files: readonly string[] | undefined;
  readonly problem?: ProfileProblem;
}

/** The profile files of a folder; each is read again after a change. */
export class FolderSource implements ProfileSource {
  readonly #folder: ProfileFolder;
  #known: ReadonlyMap<string, KnownFile> = new Map();
  #content: SourceContent | undefined;
  #wasListed = false;
  #listProblem: string | undefined;

  constructor(folder: ProfileFolder) {
    this.#folder = folder;
  }

  read(): SourceContent {
    const { files, problem } = this.#list();
    const next = new Map(files === undefined ? this.#known : []);
    let hasChanged = this.#content === undefined || problem?.message !== this.#listProblem;
    for (const file of files ?? []) {
      const known = this.#known.get(file);
      const before = fileStamp(file);
      if (known !== undefined && known.stamp === stampOf(before, known.beside)) {
        next.set(file, known);
        continue;
      }
      hasChanged = true;
      const read = readProfileFile(this.#folder, file);
      const layer = "layer" in read ? read.layer : known?.lastGood;
      const beside = this.#besides(layer);
      next.set(file, { stamp: stampOf(before, beside), read, lastGood: layer, beside });
    }
    if (next.size !== this.#known.size) hasChanged = true;
    if (this.#content !== undefined && !hasChanged) return this.#content;
    this.#known = next;
    this.#listProblem = problem?.message;
    this.#content = collect(next, problem === undefined ? [] : [problem]);
    return this.#content;
  }

  #besides(layer: ProfileLayer | undefined): readonly string[] {
    const root = this.#folder.project?.root;
    if (root === undefined || layer === undefined) return [];
    return promptFilesIn(layer.fields).map((path) => join(root, path));
  }

  #list(): Listing {
    const { path } = this.#folder;
    try {
      const files = listProfiles(path);
      this.#wasListed = true;
      return { files };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") {
        this.#wasListed = false;
        return { files: [] };
      }
      const what = `${path}: cannot be listed: ${reasonOf(error)}`;
      const problem = { name: "", file: path, message: what };
      if (this.#wasListed) {
        const effect = "What was last read of it is still used; make it readable again.";
        return { files: undefined, problem: { ...problem, message: `${what}. ${effect}` } };
      }
      // A file with the folder's name holds no profiles, and a project's folder blocks none.
      if (code === "ENOTDIR" || this.#folder.project !== undefined) return { files: [], problem };
      const effect =
        "It may narrow any profile, so none is used that it could: make the folder readable, " +
        "or remove it.";
      return {
        files: undefined,
        problem: { ...problem, message: `${what}. ${effect}`, isAboutAll: true },
      };
    }
  }
}

function listProfiles(folder: string): readonly string[] {
  // A README is documentation; files that begin with a dot belong to other programs.
  const files = readdirSync(folder).filter(
    (file) => profileFile.test(file) && !/^(?:\.|readme\.)/i.test(file),
  );
  if (files.length > maximumFiles) throw new Error(`more than ${maximumFiles} files`);
  return files.sort().map((file) => join(folder, file));
}

function collect(files: ReadonlyMap<string, KnownFile>, problems: ProfileProblem[]): SourceContent {
  const layers: ProfileLayer[] = [];
  for (const { read, lastGood } of files.values()) {
    if ("problem" in read) {
      const kept = lastGood === undefined ? "" : " The last good version of it is still used.";
      const { message } = read.problem;
      problems.push({ ...read.problem, message: message + kept, ...(kept && { name: "" }) });
    }
    const layer = "layer" in read ? read.layer : lastGood;
    if (layer !== undefined) layers.push(layer);
  }
  return { layers, problems };
}

/**
 * Keeps one layer of each name of a source. Of two files in a folder with one name neither is used.
 * In a project's folder that does not block the name.
 */
export function withoutTwins(
  layers: readonly ProfileLayer[],
  { choose }: Pick<SourceContent, "choose"> = {},
): SourceContent {
  const byName = Map.groupBy(layers, ({ name }) => name);
  const problems: ProfileProblem[] = [];
  const kept: ProfileLayer[] = [];
  for (const [name, [first, ...twins]] of byName) {
    if (first === undefined) continue;
    const chosen = twins.length === 0 ? first : choose?.([first, ...twins]);
    if (chosen !== undefined) kept.push(chosen);
    for (const { isProjects, origin } of twins) {
      const message =
        choose === undefined
          ? `${origin}: another file here is called "${name}" too (${first.origin})`
          : `${origin}: another agent is called "${name}" too (${first.origin}); the stricter of them counts`;
      const isHarmless = isProjects === true && { isHarmless: true };
      problems.push({
        name: choose === undefined ? name : "",
        file: origin,
        message,
        ...isHarmless,
      });
    }
  }
  return { layers: kept, problems };
}

/** The state of a file and of the files beside it. */
export function stampOf(
  file: string,
  beside: readonly string[] = [],
  stamp: (path: string) => string = fileStamp,
): string {
  return [file, ...beside.map(stamp)].join("|");
}

/** A text that changes when the file changes. */
export function fileStamp(file: string): string {
  let stats: Stats;
  try {
    stats = statSync(file);
  } catch {
    return "gone";
  }
  return `${stats.mtimeMs} ${stats.ctimeMs} ${stats.size} ${stats.ino}`;
}

/** A source of the person: its servers may name the folder that they start in. */
export function withOwnServers(source: ProfileSource): ProfileSource {
  let before: SourceContent | undefined;
  let marked: SourceContent | undefined;
  return {
    read() {
      const content = source.read();
      if (marked === undefined || content !== before) {
        marked = { ...content, layers: content.layers.map(ownLayer) };
      }
      before = content;
      return marked;
    },
  };
}

/** Marks the servers of a layer as declared by the person or their program. */
export function ownLayer(layer: ProfileLayer): ProfileLayer {
  const { servers } = layer.fields;
  if (servers === undefined) return layer;
  const own = Object.entries(servers).map(([name, server]) => [name, ownServer(server)]);
  return { ...layer, fields: { ...layer.fields, servers: Object.fromEntries(own) } };
}

function ownServer(server: McpServer): McpServer {
  return server.kind === "stdio" ? { ...server, isOwn: true } : server;
}
