import { basename } from "node:path";
import type { AgentFile } from "../foreign/agent-file.ts";
import type { ProfileFields } from "./profile.ts";
import { type ProfileLayer, standingOf } from "./profile-layer.ts";
import { fileStamp, type ProfileSource, type SourceContent, stampOf } from "./profile-source.ts";
import { type ProfileProblem, type ProjectFolder, projectLayer } from "./read-profile-file.ts";

/** Finds and reads the files of other programs; loaded only for a project that has some. */
export interface ForeignReader {
  /** The agent files of a project, in a fixed order. */
  find(): readonly string[];
  read(file: string): AgentFile;
  /** The one of several agents with the same name that allows least. */
  strictestAgent<Agent extends { readonly fields: ProfileFields }>(
    agents: readonly [Agent, ...Agent[]],
  ): Agent;
}

/**
 * The agents of a project for other programs, read in place. Each is a whole profile, unless the
 * person or the product has a profile of that name, which it can only narrow. Of trusted files with
 * one name the strictest is used.
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
    // Settings beside many agents are looked at once.
    const stamps = new Map<string, string>();
    const stampOnce = (path: string): string => {
      const stamp = stamps.get(path) ?? fileStamp(path);
      stamps.set(path, stamp);
      return stamp;
    };
    for (const path of this.#reader.find()) {
      const known = this.#known.get(path);
      const before = fileStamp(path);
      if (known !== undefined && known.stamp === stampOf(before, known.file.beside, stampOnce)) {
        next.set(path, known);
        continue;
      }
      hasChanged = true;
      const file = this.#reader.read(path);
      next.set(path, { stamp: stampOf(before, file.beside, stampOnce), file });
    }
    if (this.#content !== undefined && !hasChanged && next.size === this.#known.size) {
      return this.#content;
    }
    this.#known = next;
    const files = [...next.values()].map(({ file }) => file);
    const choose = this.#reader.strictestAgent;
    this.#content = { ...collect(files, this.#project), choose };
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
      // A broken file of another program blocks no profile of ours.
      const name = basename(file).replace(/\..*$/, "");
      problems.push({ name, file, message: `${file}: ${message}`, isHarmless: true });
    }
    for (const { fields, importedFrom, name } of agents) {
      const origin = `${format}: ${file}`;
      // A profile in our own format among them is not foreign.
      const isForeign = format !== "mandate" && ({ isForeign: true } as const);
      const standing = { replaces: true, ...isForeign, ...standingOf({ importedFrom }) };
      const layer = { name, fields, origin, ...standing };
      // Each agent of a file needs its own trust: to look at one is not to look at all.
      layers.push(projectLayer(layer, project, hash));
    }
  }
  return { layers, problems };
}
