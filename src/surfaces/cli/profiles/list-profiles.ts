import { basename, dirname } from "node:path";
import type { Profile } from "../../../agents/profiles/profile.ts";
import { isListed, kindOf, pathOf } from "../../../application/select-content.ts";
import { type WaitingContent, waitingContent } from "../../../application/waiting-content.ts";
import type { Control } from "../../../open-control.ts";
import { countOf } from "../amounts.ts";
import type { Arguments } from "../command.ts";
import { shorten } from "../display-width.ts";
import { drawTable } from "../draw-table.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson, shortPaths } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withControl } from "../with-store.ts";

/** Without a filter, long lists show this many lines of each group. */
const mostLines = 15;

export function listProfiles(given: Arguments, io: Io, words: readonly string[]): Promise<number> {
  return withControl(io, async (control) => {
    const isIn = (each: Parameters<typeof isListed>[0]) => isListed(each, words, io.cwd);
    const profiles = control.profiles
      .all()
      .filter((profile) => isIn({ ...profile, file: profile.origin }));
    const waiting = waitingContent(control).filter(isIn);
    if (given.flag("json")) printJson(io, asJson(control, profiles, waiting));
    else {
      const most = words.length > 0 || given.flag("all") ? Number.POSITIVE_INFINITY : mostLines;
      if (profiles.length > 0) writeTable(profiles, most, io);
      writeWaiting(waiting, most, io);
      if (words.length === 0) writeProblems(control, most, io);
      else if (profiles.length + waiting.length === 0) {
        io.stderr.write(`Nothing here is ${words.map((word) => `"${word}"`).join(" or ")}.\n`);
      }
    }
    return exitCode.done;
  });
}

function asJson(
  control: Control,
  profiles: readonly Profile[],
  waiting: readonly WaitingContent[],
): unknown {
  return {
    profiles: profiles.map(withoutSecrets),
    waiting,
    problems: control.profiles.problems,
    skills: control.skills.all(),
    skillProblems: control.skills.problems,
  };
}

/** A server's declaration may contain a secret; `show` describes servers without it. */
function withoutSecrets(profile: Profile): object {
  const { origins: _origins, project: _project, prompt: _prompt, servers, ...rest } = profile;
  return servers === undefined ? rest : { ...rest, servers: Object.keys(servers) };
}

function writeTable(profiles: readonly Profile[], most: number, io: Io): void {
  const { paint } = styleFor(io.stdout, io);
  const groups = Map.groupBy(profiles, ({ origin }) => kindOf(origin));
  const isLong = profiles.length > 3 * most;
  const shown = isLong ? [...groups.values()].flatMap((group) => group.slice(0, most)) : profiles;
  const rows = shown.map((profile) => [
    profile.name,
    profile.capabilities.join(" "),
    kindOf(profile.origin),
    printableLine(profile.description),
  ]);
  const columns = ["PROFILE", "FOR", "FROM", "DESCRIPTION"].map((title) => ({ title }));
  for (const line of drawTable(columns, rows, io, { leastRoom: 20 })) io.stdout.write(`${line}\n`);
  if (!isLong) return;
  const counts = [...groups].map(([kind, { length }]) => `${length} ${kind}`).join(", ");
  io.stdout.write(`${paint.dim(`${countOf(profiles.length, "profile")} in all: ${counts}`)}\n`);
  for (const [kind, { length }] of groups) {
    if (length > most) io.stdout.write(more(length - most, `profiles list "${kind}"`, io));
  }
}

function more(count: number, command: string, io: Io): string {
  const { paint } = styleFor(io.stdout, io);
  return `  ${paint.dim(`and ${count} more: ${io.program} ${command}`)}\n`;
}

/** Content without effect, by folder, each with what it is for: a person decides by that. */
function writeWaiting(waiting: readonly WaitingContent[], most: number, io: Io): void {
  if (waiting.length === 0) return;
  const { glyphs, paint } = styleFor(io.stdout, io);
  const title = "Came with this project, and has no effect because it is not trusted:";
  io.stdout.write(`\n${paint.warn(title)}\n`);
  const groups = Map.groupBy(waiting, ({ file }) => folderOf(file, io));
  for (const [folder, contents] of groups) {
    io.stdout.write(`${paint.strong(printableLine(folder))}  ${countKinds(contents)}\n`);
    for (const { description = "", file, isChanged, kind, name } of contents.slice(0, most)) {
      const since = isChanged === true ? "  (changed since it was trusted)" : "";
      const stem = basename(pathOf(file)).replace(/\..*$/, "");
      const place = stem === name || kind === "configuration" ? "" : ` (${basename(pathOf(file))})`;
      const who = `  ${glyphs.asking} ${kind} ${printableLine(name)}${printableLine(place) && ` ${printableLine(place)}`}${since}`;
      const { columns, isTerminal } = io.stdout;
      const room = isTerminal ? Math.max(20, columns - 3 - who.length) : 200;
      const about = shorten(printableLine(description), room, glyphs.ellipsis);
      io.stdout.write(`${who}${about === "" ? "" : `  ${paint.dim(about)}`}\n`);
    }
    const left = contents.length - most;
    if (left > 0) io.stdout.write(more(left, `profiles list ${printableLine(folder)}`, io));
  }
  io.stderr.write(
    `Look with: ${io.program} profiles show NAME-OR-PATH. Then: ${io.program} profiles trust NAME, PATH, FOLDER or PATTERN\n`,
  );
}

/** The folder of a file or a skill, with at most two levels below the current folder. */
function folderOf(file: string, io: Io): string {
  const folder = dirname(pathOf(file));
  if (folder === io.cwd) return ".";
  const short = shortPaths(folder, io);
  return short === folder ? folder : short.split("/").slice(0, 2).join("/");
}

function countKinds(contents: readonly WaitingContent[]): string {
  const kinds = Map.groupBy(contents, ({ kind }) => kind);
  return [...kinds].map(([kind, { length }]) => countOf(length, kind)).join(", ");
}

function writeProblems({ profiles, skills }: Control, most: number, io: Io): void {
  const { glyphs, paint } = styleFor(io.stderr, io);
  const problems = [...profiles.problems, ...skills.problems];
  for (const { message } of problems.slice(0, most)) {
    const line = shortPaths(printableLine(message), io);
    io.stderr.write(`${paint.bad(glyphs.failed)} ${line}\n`);
  }
  const left = problems.length - most;
  if (left > 0) io.stderr.write(more(left, "profiles list --all", io));
}
