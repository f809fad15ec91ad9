import { resolve } from "node:path";
import type { Profile } from "../../../agents/profiles/profile.ts";
import { checkAgentFiles, type FileReport } from "../../../application/check-agent-files.ts";
import { waitingContent } from "../../../application/waiting-content.ts";
import { loadConfig } from "../../../control/load-config.ts";
import { type Control, skillNamesAt } from "../../../open-control.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import {
  type Arguments,
  anyWords,
  type Command,
  chosenFrom,
  flag,
  jsonOption,
} from "../command.ts";
import { drawTable } from "../draw-table.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";
import { withControl } from "../with-store.ts";
import { distrustProfiles, showProfile, trustProfiles } from "./profile-trust.ts";

export const profilesCommand: Command = {
  name: "profiles",
  usage:
    "[options] [list | show NAME | check PATH... | trust [NAME-OR-PATH...] | distrust NAME...]",
  about:
    "Lists profiles; show prints one profile as it is in effect, and where each field came from.\n" +
    "check reads agent files of any program and reports on each: what is wrong with it, and what an\n" +
    "import would lose. Profiles, skills, agents of other programs and the mandate.yaml of a project\n" +
    "have no effect until you trust their present content; a changed file has to be trusted again.\n" +
    "trust shows the content at a terminal, and refuses files that could not be used.",
  options: {
    json: jsonOption,
    all: flag("trust everything that waits for it here"),
  },
  words: anyWords,
  examples: [
    "profiles",
    "profiles show coder",
    "profiles check .claude/agents",
    "profiles trust reviewer",
  ],
  run: (given, io) => {
    const [word, ...names] = given.words;
    return chosenFrom("profiles", words, word)(given, io, names);
  },
};

const words: Readonly<
  Record<string, (given: Arguments, io: Io, names: readonly string[]) => Promise<number>>
> = {
  list: listProfiles,
  show: showProfile,
  check: checkProfiles,
  trust: trustProfiles,
  distrust: distrustProfiles,
};

function listProfiles(given: Arguments, io: Io): Promise<number> {
  return withControl(io, async (control) => {
    if (given.flag("json")) printJson(io, asJson(control));
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
  const rows = profiles
    .all()
    .map((profile) => [
      profile.name,
      profile.capabilities.join(" "),
      placeOf(profile),
      printableLine(profile.description),
    ]);
  const columns = ["PROFILE", "FOR", "FROM", "DESCRIPTION"].map((title) => ({ title }));
  for (const line of drawTable(columns, rows, io, { leastRoom: 20 })) io.stdout.write(`${line}\n`);
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

/** The kind of place; `show` has the file. */
function placeOf({ origin }: Profile): string {
  return /^[a-z][a-z -]*(?=: )/.exec(origin)?.[0] ?? "configuration";
}

/** A server's declaration may contain a secret; `show` describes servers without it. */
function withoutSecrets(profile: Profile): object {
  const { origins: _origins, project: _project, prompt: _prompt, servers, ...rest } = profile;
  return servers === undefined ? rest : { ...rest, servers: Object.keys(servers) };
}

/** Reports on every agent file below the paths; exits 1 when one of them cannot be used. */
async function checkProfiles(given: Arguments, io: Io, paths: readonly string[]): Promise<number> {
  if (paths.length === 0) {
    throw new MandateError("usage", "profiles check takes files or folders: check .claude/agents");
  }
  const files = paths.map((path) => resolve(io.cwd, path));
  const { cwd, environment } = io;
  const { own } = await loadConfig({ cwd, environment });
  const reports = checkAgentFiles(files, undefined, {
    skill: skillNamesAt(cwd, environment),
    server: new Set(Object.keys(own.mcp.servers)),
  });
  if (given.flag("json")) printJson(io, reports);
  else {
    const style = styleFor(io.stdout, io);
    for (const report of reports) io.stdout.write(describe(report, style));
    io.stdout.write(`${summary(reports)}\n`);
  }
  return reports.some(({ status }) => status === "error") ? exitCode.failed : exitCode.done;
}

function describe(report: FileReport, { glyphs, paint }: Style): string {
  const { diagnostics, file, format, loss, name, names, servers, status } = report;
  const mark = {
    ok: paint.good(glyphs.done),
    warning: paint.warn("!"),
    error: paint.bad(glyphs.failed),
    skipped: paint.dim(glyphs.queued),
  }[status];
  const of = (agent: string | undefined): string => (agent === undefined ? "" : `${agent}: `);
  const agents = names === undefined ? (name ?? "") : `${names.length} agents`;
  const isServers = servers !== undefined && name === null;
  const who = isServers ? countOf(servers.length, "server") : agents;
  const lines = [`${mark} ${printableLine(file)}  ${paint.dim(`${format} ${printableLine(who)}`)}`];
  for (const { agent, line, message } of diagnostics) {
    const place = line === undefined ? "" : `line ${line}: `;
    lines.push(`    ${place}${printableLine(of(agent) + message)}`);
  }
  for (const { agent, detail, field, kind } of loss) {
    lines.push(paint.dim(`    ${kind} ${printableLine(`${of(agent)}${field}: ${detail}`)}`));
  }
  return `${lines.join("\n")}\n`;
}

function summary(reports: readonly FileReport[]): string {
  const count = (status: FileReport["status"]): number =>
    reports.filter((report) => report.status === status).length;
  return `${countOf(reports.length, "file")}: ${count("ok")} ok, ${count("warning")} with warnings, ${count("error")} that cannot be used, ${count("skipped")} skipped`;
}
