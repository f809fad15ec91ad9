import type { EngineParts } from "../delegations/engine-parts.ts";
import { Pace } from "../tools/files/search/pace.ts";
import { selectFiles } from "../tools/files/search/select-files.ts";
import { bindWorkspace } from "../workspaces/bind-workspace.ts";

export interface FoundFiles {
  /** Relative to the folder, with `/`; the best first. */
  readonly paths: readonly string[];
  /** There are more files than were looked at. */
  readonly isPartial: boolean;
}

interface FileQuestion {
  /** The part of a path that was typed. */
  readonly wanted: string;
  readonly most: number;
  readonly signal: AbortSignal;
}

const mostLookedAt = 100_000;
/** Every keystroke searches again: the folder is not walked for each of them. */
const keptMs = 3000;
const mostKept = 4;

interface Walked {
  readonly at: number;
  readonly paths: readonly string[];
  readonly isPartial: boolean;
}

/**
 * Files of a folder by a remembered part of their paths, for people who write a task. They are
 * those that a search of an agent would see there: nothing outside it, nothing that is the runtime's
 * own, and neither .git, node_modules nor what .gitignore names. What could not be written down in
 * a line, or would turn its direction, is left out.
 */
export class FileFinder {
  readonly #parts: Pick<EngineParts, "forbidden" | "worktrees" | "clock">;
  readonly #walked = new Map<string, Walked>();

  constructor(parts: Pick<EngineParts, "forbidden" | "worktrees" | "clock">) {
    this.#parts = parts;
  }

  async find(root: string, { most, signal, wanted }: FileQuestion): Promise<FoundFiles> {
    const { isPartial, paths } = await this.#walk(root, signal);
    const fitting = paths.flatMap((path) => {
      const score = scorePath(path, wanted);
      return score === undefined ? [] : { path, score };
    });
    // Sorting is stable: what fits alike stays in the order of paths.
    fitting.sort((one, other) => other.score - one.score);
    return { paths: fitting.slice(0, most).map(({ path }) => path), isPartial };
  }

  async #walk(root: string, signal: AbortSignal): Promise<Walked> {
    const { clock, forbidden, worktrees } = this.#parts;
    const now = clock.monotonic();
    const known = this.#walked.get(root);
    if (known !== undefined && now - known.at < keptMs) return known;
    const workspace = bindWorkspace({
      ...{ root, forbidden, workingCopies: worktrees },
      isolation: "shared",
      allowWrites: false,
    });
    const pace = new Pace(signal);
    const paths: string[] = [];
    let isPartial = false;
    for (const entry of selectFiles(workspace, { path: ".", includeIgnored: false })) {
      if (pace.isOver) await pace.pause();
      if (entry?.kind !== "file" || !canBeWritten(entry.path)) continue;
      isPartial = paths.length === mostLookedAt;
      if (isPartial) break;
      paths.push(entry.path);
    }
    const walked = { at: now, paths, isPartial };
    this.#walked.delete(root);
    this.#walked.set(root, walked);
    const [oldest] = this.#walked.keys();
    if (this.#walked.size > mostKept && oldest !== undefined) this.#walked.delete(oldest);
    return walked;
  }
}

function canBeWritten(path: string): boolean {
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}"\ufffd]/u.test(path);
}

/**
 * How well a path fits the typed part of it: greater is better; undefined: not at all.
 * The letters have to be there in their order. A whole piece of the file's name counts most, then
 * one of the path, then beginnings of words; between equals the shorter path wins.
 */
export function scorePath(path: string, wanted: string): number | undefined {
  const [text, letters] = [path.toLowerCase(), wanted.toLowerCase()];
  const nameAt = text.lastIndexOf("/") + 1;
  const short = -text.length / 10_000;
  if (letters === "") return short - depthOf(text);
  const inName = text.indexOf(letters, nameAt);
  if (inName >= 0) {
    const isStart = inName === nameAt;
    const isWhole = isStart && /^(?:\.|$)/.test(text.slice(nameAt + letters.length));
    return (isWhole ? 5 : isStart ? 4 : 3) + short;
  }
  if (text.includes(letters)) return 2 + short;
  const share = shareOfBeginnings(text, letters);
  return share === undefined ? undefined : share + short;
}

/** Near the top first, where nothing was said. */
function depthOf(path: string): number {
  return path.split("/").length;
}

/** Of the letters in their order, how many begin a word; undefined where they are not all there. */
function shareOfBeginnings(text: string, letters: string): number | undefined {
  let beginnings = 0;
  let from = 0;
  for (const letter of letters) {
    const at = text.indexOf(letter, from);
    if (at < 0) return undefined;
    if (at === 0 || /[/._\- ]/.test(text[at - 1] ?? "")) beginnings += 1;
    from = at + letter.length;
  }
  return beginnings / letters.length;
}
