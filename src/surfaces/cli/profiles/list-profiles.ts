import type { Profile } from "../../../agents/profiles/profile.ts";
import { waitingContent } from "../../../application/waiting-content.ts";
import type { Control } from "../../../open-control.ts";
import type { Arguments } from "../arguments.ts";
import { displayWidth, padEnd, shorten } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withControl } from "../with-control.ts";

export function listProfiles(given: Arguments, io: Io): Promise<number> {
  return withControl(io, async (control) => {
    if (given.flag("json")) io.stdout.write(`${printableJson(asJson(control), 2)}\n`);
    else writeTable(control, io);
    return exitCode.done;
  });
}

function asJson(control: Control): unknown {
  const { profiles, skills } = control;
  return {
    profiles: profiles.all().map(withoutSecrets),
    waiting: waitingContent(control),
    problems: profiles.problems,
    skills: skills.all(),
    skillProblems: skills.problems,
  };
}

function writeTable(control: Control, io: Io): void {
  const { profiles, skills } = control;
  const { glyphs, paint } = styleFor(io.stdout, io);
  const columns = io.stdout.isTerminal ? io.stdout.columns : 0;
  const rows = profiles
    .all()
    .map((profile) => [
      profile.name,
      profile.capabilities.join(" "),
      placeOf(profile),
      printableLine(profile.description),
    ]);
  const head = ["PROFILE", "FOR", "FROM", "DESCRIPTION"];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => displayWidth(row[column] ?? ""))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const room = columns === 0 ? Number.POSITIVE_INFINITY : Math.max(20, columns - 1 - before);
  const draw = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === head.length - 1
          ? shorten(cell, room, glyphs.ellipsis)
          : padEnd(cell, widths[column] ?? 0),
      )
      .join("  ");
  io.stdout.write(`${paint.dim(draw(head))}\n`);
  for (const row of rows) io.stdout.write(`${draw(row)}\n`);
  const waiting = waitingContent(control);
  if (waiting.length > 0) {
    const title = "Came with this project, and has no effect because it is not trusted:";
    io.stdout.write(`\n${paint.warn(title)}\n`);
    for (const { file, isChanged, kind, name } of waiting) {
      const since = isChanged === true ? "  (changed since it was trusted)" : "";
      io.stdout.write(
        `  ${glyphs.asking} ${kind} ${printableLine(name)}  ${paint.dim(printableLine(file))}${since}\n`,
      );
    }
    io.stderr.write(
      `Look with: ${io.program} profiles show NAME-OR-PATH. Then: ${io.program} profiles trust NAME-OR-PATH\n`,
    );
  }
  for (const { message } of [...profiles.problems, ...skills.problems]) {
    io.stderr.write(`${paint.bad(glyphs.failed)} ${printableLine(message)}\n`);
  }
}

/** The place alone: the file is in `show`. */
function placeOf({ origin }: Profile): string {
  return /^[a-z][a-z -]*(?=: )/.exec(origin)?.[0] ?? "configuration";
}

/** A declaration may hold a secret that somebody wrote into it; `show` describes servers. */
function withoutSecrets(profile: Profile): object {
  const { origins: _origins, project: _project, prompt: _prompt, servers, ...rest } = profile;
  return servers === undefined ? rest : { ...rest, servers: Object.keys(servers) };
}
