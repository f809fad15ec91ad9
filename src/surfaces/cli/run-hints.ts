import { keptWorkIn } from "../../application/kept-copies.ts";
import type { ChangesOfRun } from "../../application/kept-work/changes-of-run.ts";
import type { DelegationDiff, DiffedFile } from "../../application/kept-work/diff-of-delegation.ts";
import { findPlaces } from "../../control/places.ts";
import { isPaused, type RunState } from "../../events/run-state.ts";
import { atMost, atMostCost, spentIn } from "../../events/spent.ts";
import type { Store } from "../../ports/store.ts";
import { countOf, formatCost, formatElapsed, formatTokens } from "./amounts.ts";
import { displayWidth, padEnd } from "./display-width.ts";
import type { Io } from "./io.ts";
import { printableLine } from "./printable.ts";
import { type Paint, type Style, styleFor } from "./style.ts";

/** The delegations of a run that failed and left their work in a copy. */
export function keptChanges(
  store: Store,
  { delegations }: Pick<RunState, "delegations">,
  io: Io,
): Promise<readonly string[]> {
  const { home } = findPlaces(io.environment);
  return keptWorkIn({ store, home }, delegations.values());
}

/** The most changed files that are listed; the sum counts all of them. */
const mostListed = 12;

/** What changed in the folder, what the run cost, and how to continue the conversation. */
export function tellOfRun({ changes, run }: RunSummary, io: Io): void {
  const style = styleFor(io.stderr, io);
  const { files, hasCommands } = changes;
  const truncated = files.some(({ lines }) => lines === null);
  const lines = drawStat({ files, truncated }, style);
  const sum = lines.pop();
  const listed = lines.slice(0, mostListed);
  if (lines.length > mostListed)
    listed.push(`  and ${countOf(lines.length - mostListed, "more file")}`);
  const more = hasCommands ? ", and perhaps what commands changed" : "";
  if (sum !== undefined) listed.push(`Changed: ${sum}${more}`);
  const spent = spentIn(run);
  const cost = atMostCost(formatCost(spent.cost), spent);
  const tokens = `${atMost(formatTokens(spent.tokens), spent)} tokens`;
  const elapsed = formatElapsed(io.now() - run.startedAt);
  listed.push(
    `${tokens}, ${cost}, ${elapsed}. Continue: ${io.program} run --continue ${run.id} "${style.glyphs.ellipsis}"`,
  );
  io.stderr.write(`${listed.join("\n")}\n`);
}

export interface RunSummary {
  readonly run: RunState;
  readonly changes: ChangesOfRun;
}

export function tellKept(kept: readonly string[], io: Io): void {
  for (const id of kept)
    io.stderr.write(`Changes kept: ${io.program} diff ${id}, then merge ${id} or discard ${id}\n`);
}

/** The command that continues an interrupted run. */
export function resumeHint(run: RunState, io: Io): string {
  return isLeftToWorkers(run)
    ? `Start a worker: ${io.program} worker`
    : `Resume: ${io.program} resume ${run.id}`;
}

/** Workers recover a distributed run by themselves; one that is paused, a person resumes. */
export function isLeftToWorkers(run: RunState): boolean {
  return run.spread !== null && !isPaused(run);
}

/** A patch with colours. Inside a hunk every line begins with its sign. */
export function drawPatch(text: string, { paint }: Style): string {
  let isHunk = false;
  return text
    .split("\n")
    .map((line) => {
      if (line.startsWith("@@")) {
        isHunk = true;
        return paint.accent(line);
      }
      if (!/^[-+ \\]/.test(line)) isHunk = false;
      if (!isHunk) return paint.strong(line);
      if (line.startsWith("+")) return paint.good(line);
      return line.startsWith("-") ? paint.bad(line) : line;
    })
    .join("\n");
}

const letters = { added: "A", changed: "M", removed: "D" } as const;

/** A line for each file, and the sum. */
export function drawStat(
  { files, truncated }: Pick<DelegationDiff, "files" | "truncated">,
  { paint }: Style,
): string[] {
  const paths = files.map(({ path }) => printableLine(path));
  const width = Math.max(0, ...paths.map(displayWidth));
  const added = files.reduce((sum, { lines }) => sum + (lines?.added ?? 0), 0);
  const removed = files.reduce((sum, { lines }) => sum + (lines?.removed ?? 0), 0);
  const sum = `${countOf(files.length, "file")}, ${counts({ added, removed }, paint)}`;
  return [
    ...files.map(({ change, lines }, index) => {
      const mark = paint.dim(letters[change]);
      return `${mark} ${padEnd(paths[index] ?? "", width)}  ${drawLines(lines, truncated, paint)}`;
    }),
    ...(files.length === 0
      ? []
      : [`${sum}${truncated ? ", and more lines than are counted" : ""}`]),
  ];
}

function drawLines(lines: DiffedFile["lines"], truncated: boolean, paint: Paint): string {
  if (lines !== null) return counts(lines, paint);
  return paint.dim(truncated ? "not counted" : "binary");
}

function counts({ added, removed }: NonNullable<DiffedFile["lines"]>, paint: Paint): string {
  return `${paint.good(`+${added}`)} ${paint.bad(`-${removed}`)}`;
}
