import type { EngineParts } from "../delegations/engine-parts.ts";
import { Pace } from "../tools/files/search/pace.ts";
import { selectFiles } from "../tools/files/search/select-files.ts";
import { bindWorkspace } from "../workspaces/bind-workspace.ts";

export interface FoundFiles {
  /** Relative to the folder, with `/`; the best match first. */
  readonly paths: readonly string[];
  /** The limit of files was reached. */
  readonly isPartial: boolean;
}

interface FileQuestion {
  /** The typed part of a path. */
  readonly wanted: string;
  readonly most: number;
  readonly signal: AbortSignal;
}

const mostLookedAt = 100_000;
/** How long a listing is kept: every keystroke searches again. */
const keptMs = 3000;
const mostKept = 4;

interface Walked {
  readonly at: number;
  readonly paths: readonly string[];
  readonly isPartial: boolean;
}

/**
 * Finds files of a folder by part of their path, for a person who writes a task. The files are
 * those of an agent's search there: without files outside, protected files, .git, node_modules and
 * ignored files. Paths that could not be shown in one line are skipped.
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
    // The sort is stable: equal matches stay in the order of paths.
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
 * The score of a path for a typed text; higher is better; undefined: no match. All letters must
 * occur in their order. A match in the file name scores most, then in the path, then beginnings of
 * words; of equal matches the shorter path wins.
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

/** Paths near the root come first when nothing was typed. */
function depthOf(path: string): number {
  return path.split("/").length;
}

/** The share of letters that begin a word; undefined if not all letters occur in their order. */
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
