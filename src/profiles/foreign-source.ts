import { basename } from "node:path";
import type { AgentFile } from "./foreign/agent-file.ts";
import { contentHash } from "./profile-hash.ts";
import type { ProfileLayer } from "./profile-layer.ts";
import { fileStamp, type ProfileSource, type SourceContent } from "./profile-source.ts";
import type { ProfileProblem } from "./read-profile-file.ts";

/** How other programs' files are found and read; loaded only where a project has some. */
export interface ForeignReader {
  /** The agent files of a project, in a fixed order. */
  find(): readonly string[];
  read(file: string): AgentFile;
}

/**
 * The agents that a project has for other programs, read in place. They stand for themselves: they
 * say nothing about a profile of ours that has the same name. The first of a name is kept, by path.
 */
export class ForeignSource implements ProfileSource {
  readonly #reader: ForeignReader;
  readonly #isTrusted: boolean;
  #known: ReadonlyMap<string, { readonly stamp: string; readonly file: AgentFile }> = new Map();
  #content: SourceContent | undefined;

  constructor(reader: ForeignReader, isTrusted: boolean) {
    this.#reader = reader;
    this.#isTrusted = isTrusted;
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
    this.#content = collect(files, this.#isTrusted);
    return this.#content;
  }
}

function collect(files: readonly AgentFile[], isTrusted: boolean): SourceContent {
  const layers = new Map<string, ProfileLayer>();
  const problems: ProfileProblem[] = [];
  // A broken file of another program takes no name of ours with it.
  const report = (file: string, message: string, name = ""): void => {
    problems.push({ name, file, message: `${file}: ${message}`, isHarmless: true });
  };
  for (const { agents, diagnostics, file, format, hash, status } of files) {
    if (format === "skill") continue;
    if (status === "error") {
      const { message = "cannot be read" } =
        diagnostics.find((each) => each.severity === "error") ?? {};
      report(file, message, basename(file).replace(/\..*$/, ""));
    }
    for (const { fields, name } of agents) {
      const first = layers.get(name);
      if (first !== undefined) {
        report(file, `another agent is called "${name}" too (${first.origin}); that one is kept`);
        continue;
      }
      const origin = `${format}: ${file}`;
      // A profile of ours that lies among them is ours there as well.
      const isForeign = format !== "mandate" && ({ isForeign: true } as const);
      const layer = { name, fields, origin, replaces: true, ...isForeign };
      // Each agent of a file is acknowledged by itself: one look is not a look at all of them.
      const unacknowledged = contentHash([hash, name]);
      layers.set(name, isTrusted ? layer : { ...layer, unacknowledged });
    }
  }
  return { layers: [...layers.values()], problems };
}
