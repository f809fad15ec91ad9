import { waitingContent } from "../../../commands/waiting-content.ts";
import type { Control } from "../../../open-control.ts";
import type { Profile } from "../../../profiles/profile.ts";
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

function asJson({ profiles, skills }: Control): unknown {
  return {
    profiles: profiles.all().map(withoutSecrets),
    waiting: waitingContent({ profiles, skills }),
    problems: profiles.problems,
    skills: skills.all(),
    skillProblems: skills.problems,
  };
}

function writeTable({ profiles, skills }: Control, io: Io): void {
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
  const waiting = waitingContent({ profiles, skills });
  if (waiting.length > 0) {
    io.stdout.write(`\n${paint.warn("Came with this project, and nobody has trusted it yet:")}\n`);
    for (const { file, kind, name } of waiting) {
      io.stdout.write(
        `  ${glyphs.asking} ${kind} ${name}  ${paint.dim(printableLine(file))}${blocks(profiles, name, kind)}\n`,
      );
    }
    io.stderr.write(
      `Look with: ${io.program} profiles show NAME. Then: ${io.program} profiles trust NAME\n`,
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

/** One of ours that waits keeps its name from being used: an earlier one could be wider. */
function blocks(profiles: Control["profiles"], name: string, kind: string): string {
  if (kind === "skill" || profiles.get(name) !== undefined) return "";
  return profiles.layersOf(name).length > 0 ? `  (until then ${name} cannot be used)` : "";
}

/** A declaration may hold a secret that somebody wrote into it; `show` describes servers. */
function withoutSecrets(profile: Profile): object {
  const { origins: _origins, prompt: _prompt, servers, ...rest } = profile;
  return servers === undefined ? rest : { ...rest, servers: Object.keys(servers) };
}
