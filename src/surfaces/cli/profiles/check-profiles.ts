import { resolve } from "node:path";
import { checkAgentFiles, type FileReport } from "../../../application/check-agent-files.ts";
import { loadConfig } from "../../../control/load-config.ts";
import { skillNamesAt } from "../../../open-control.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import type { Arguments } from "../arguments.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";

/** Reports on every agent file that is found; exits 1 when one of them cannot be used. */
export async function checkProfiles(
  given: Arguments,
  io: Io,
  paths: readonly string[],
): Promise<number> {
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
  if (given.flag("json")) io.stdout.write(`${printableJson(reports, 2)}\n`);
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
