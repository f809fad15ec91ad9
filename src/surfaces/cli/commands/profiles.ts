import { resolve } from "node:path";
import { checkAgentFiles, type FileReport } from "../../../application/check-agent-files.ts";
import { loadConfig } from "../../../control/load-config.ts";
import { skillNamesAt } from "../../../open-control.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import { type Arguments, type Command, chosenFrom, flag, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson, shortPaths } from "../printable.ts";
import { listProfiles } from "../profiles/list-profiles.ts";
import { distrustProfiles, showProfile, trustProfiles } from "../profiles/trust-profiles.ts";
import { type Style, styleFor } from "../style.ts";

export const profilesCommand: Command = {
  name: "profiles",
  usage:
    "[options] [list [WHICH...] | show NAME | check PATH... | trust WHICH... | distrust WHICH...]",
  about:
    "Lists profiles; show prints one profile as it is in effect, and where each field came from.\n" +
    "check reads agent files of any program and reports on each: what is wrong with it, and what an\n" +
    "import would lose. Profiles, skills, agents of other programs and the mandate.yaml of a project\n" +
    "have no effect until you trust their present content; a changed file has to be trusted again.\n" +
    "trust shows the content at a terminal, and refuses files that could not be used. WHICH is a name,\n" +
    "a path, a folder with all below it, or a pattern over names or paths; list takes a word as well.",
  options: {
    json: jsonOption,
    all: flag("list everything; or trust everything that waits for it here"),
  },
  words: { least: 0, most: Number.POSITIVE_INFINITY },
  examples: [
    "profiles",
    "profiles show coder",
    "profiles check .claude/agents",
    "profiles list security",
    "profiles trust reviewer '.claude/agents/qa-*'",
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
    for (const report of reports) {
      io.stdout.write(describe({ ...report, file: shortPaths(report.file, io) }, style));
    }
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
