import { basename } from "node:path";
import type { AgentFile } from "../foreign/agent-file.ts";
import type { ProfileLayer } from "./profile-layer.ts";
import { fileStamp, type ProfileSource, type SourceContent } from "./profile-source.ts";
import { type ProfileProblem, type ProjectFolder, projectLayer } from "./read-profile-file.ts";

/** How other programs' files are found and read; loaded only where a project has some. */
export interface ForeignReader {
  /** The agent files of a project, in a fixed order. */
  find(): readonly string[];
  read(file: string): AgentFile;
}

/**
 * The agents that a project has for other programs, read in place. They stand for themselves, unless
 * the person or the product has a profile of that name: that one they can only narrow. Of those that
 * are trusted the first of a name is kept, by path.
 */
export class ForeignSource implements ProfileSource {
  readonly #reader: ForeignReader;
  readonly #project: ProjectFolder;
  #known: ReadonlyMap<string, { readonly stamp: string; readonly file: AgentFile }> = new Map();
  #content: SourceContent | undefined;

  constructor(reader: ForeignReader, project: ProjectFolder) {
    this.#reader = reader;
    this.#project = project;
  }

  read(): SourceContent {
    const next = new Map<string, { readonly stamp: string; readonly file: AgentFile }>();
    let hasChanged = this.#content === undefined;
    for (const path of this.#reader.find()) {
      const known = this.#known.get(path);
      const stamp = fileStamp(path);
      if (known?.stamp === stamp) next.set(path, known);
      else {
        hasChanged = true;
        next.set(path, { stamp, file: this.#reader.read(path) });
      }
    }
    if (this.#content !== undefined && !hasChanged && next.size === this.#known.size) {
      return this.#content;
    }
    this.#known = next;
    const files = [...next.values()].map(({ file }) => file);
    this.#content = collect(files, this.#project);
    return this.#content;
  }
}

function collect(files: readonly AgentFile[], project: ProjectFolder): SourceContent {
  const layers: ProfileLayer[] = [];
  const problems: ProfileProblem[] = [];
  for (const { agents, diagnostics, file, format, hash, status } of files) {
    if (format === "skill") continue;
    if (status === "error") {
      const { message = "cannot be read" } =
        diagnostics.find((each) => each.severity === "error") ?? {};
      // A broken file of another program takes no name of ours with it.
      const name = basename(file).replace(/\..*$/, "");
      problems.push({ name, file, message: `${file}: ${message}`, isHarmless: true });
    }
    for (const { fields, name } of agents) {
      const origin = `${format}: ${file}`;
      // A profile of ours that lies among them is ours there as well.
      const isForeign = format !== "mandate" && ({ isForeign: true } as const);
      const layer = { name, fields, origin, replaces: true, ...isForeign };
      // Each agent of a file is trusted by itself: one look is not a look at all of them.
      layers.push(projectLayer(layer, project, hash));
    }
  }
  return { layers, problems, keepsFirst: true };
}
