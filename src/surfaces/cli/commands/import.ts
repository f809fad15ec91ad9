import { lstatSync, mkdirSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Profile } from "../../../agents/profiles/profile.ts";
import {
  type Conversion,
  type ConvertedAgent,
  convertAgentFiles,
  requireNothingLost,
} from "../../../application/import-agents.ts";
import { isSelected } from "../../../application/select-content.ts";
import { waitingContent } from "../../../application/waiting-content.ts";
import { findPlaces } from "../../../control/places.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine, printJson, shortPaths } from "../printable.ts";
import { type Style, styleFor } from "../style.ts";
import { withControl } from "../with-store.ts";

export const importCommand: Command = {
  name: "import",
  usage: "[options] PATH...",
  about:
    "Turns agent files of other programs into profiles of ours: Claude Code, opencode, Gemini CLI,\n" +
    "Codex, Copilot, Cursor, Kiro, Roo, Goose, pi. Says for every field what does not carry over. The\n" +
    "files are written to .mandate/agents of this folder, or to your own profiles with --user. Each\n" +
    "stands for itself: where you already have a profile of its name, it gets another one. MCP\n" +
    "servers are printed for your configuration; they are never started by an import.",
  options: {
    json: jsonOption,
    strict: flag("import nothing unless everything carries over"),
    "dry-run": flag("say what would be written, and write nothing"),
    user: flag("write to your own profiles, for all projects"),
    force: flag("replace files that are already there"),
    to: text("FOLDER", "write there instead"),
  },
  words: { least: 1, most: Number.POSITIVE_INFINITY, needs: "the PATH of a file or a folder" },
  examples: ["import .claude/agents", "import --strict --user ~/work/agents/reviewer.md"],
  run: importAgents,
};

/** The names of profiles that the person or the product has, which no project can replace. */
function ownNames(profiles: readonly Profile[]): ReadonlySet<string> {
  const own = profiles.filter(({ project }) => project === undefined || project.own !== undefined);
  return new Set(own.map(({ name }) => name));
}

interface Written {
  readonly name: string;
  readonly originally?: string;
  readonly source: string;
  readonly file: string;
  readonly status: "written" | "kept" | "planned";
  readonly loss: ConvertedAgent["loss"];
}

async function importAgents(given: Arguments, io: Io): Promise<number> {
  const paths = given.words.map((path) => resolve(io.cwd, path));
  const taken = await withControl(io, async ({ profiles }) => ownNames(profiles.all()));
  const isUsers = given.flag("user");
  const conversion = convertAgentFiles(paths, isUsers ? new Set() : taken);
  if (given.flag("strict")) requireNothingLost(conversion);
  const folder = folderFor(given, io);
  const written = conversion.agents.map((agent) => write(agent, folder, given));
  if (given.flag("json")) {
    const { duplicates, files, refused, servers, skills } = conversion;
    const failed = files.filter(({ status }) => status === "error");
    printJson(io, { written, refused, servers, skills, duplicates, failed });
  } else {
    say(conversion, written, { io, replaced: isUsers ? taken : new Set() });
    if (written.some(({ status }) => status === "written")) await sayEffect(folder, io);
  }
  const { agents, files, refused, servers, skills } = conversion;
  const hasFailed = refused.length > 0 || files.some(({ status }) => status === "error");
  const isNothing = agents.length + skills.length + Object.keys(servers).length === 0;
  if (isNothing && !given.flag("json")) io.stderr.write(nothingFound(conversion));
  return hasFailed || isNothing ? exitCode.failed : exitCode.done;
}

function nothingFound({ files }: Conversion): string {
  const why = files.slice(0, 5).map(({ diagnostics, file }) => {
    return `  ${printableLine(file)}: ${printableLine(diagnostics[0]?.message ?? "nothing in it")}\n`;
  });
  return ["There is nothing to import.\n", ...why].join("");
}

function folderFor(given: Arguments, io: Io): string {
  const to = given.text("to");
  if (to !== undefined && given.flag("user")) {
    throw new MandateError("usage", "--to and --user both say where to write; keep one of them.");
  }
  if (to !== undefined) return resolve(io.cwd, to);
  if (given.flag("user")) return findPlaces(io.environment).userAgents;
  const folder = join(io.cwd, ".mandate", "agents");
  requireInsideProject(folder, io.cwd);
  return folder;
}

/** A repository can have a link to any place instead of the folder. */
function requireInsideProject(folder: string, cwd: string): void {
  for (const path of [dirname(folder), folder]) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    const target = realpathSync(path);
    const isInside = target.startsWith(`${realpathSync(cwd)}/`);
    if (!isInside) {
      throw new MandateError(
        "refused-by-policy",
        `${path} is a link to ${target}, outside this folder. Name a folder with --to.`,
      );
    }
  }
}

/** An existing file is replaced only with --force. */
function write(agent: ConvertedAgent, folder: string, given: Arguments): Written {
  const file = join(folder, `${agent.name}.md`);
  const { markdown, ...about } = { ...agent, file };
  if (given.flag("dry-run")) return { ...about, status: "planned" };
  const isThere = (path: string): boolean =>
    lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  // If a folder has two files with one name, neither is used.
  const other = [".json", ".yaml", ".yml"]
    .map((end) => join(folder, agent.name + end))
    .find(isThere);
  if (other !== undefined) return { ...about, file: other, status: "kept" };
  if (isThere(file) && !given.flag("force")) return { ...about, status: "kept" };
  mkdirSync(folder, { recursive: true });
  // Renamed into place: an existing link is replaced, and its target is not.
  const fresh = join(folder, `.${agent.name}.${process.pid}.tmp`);
  writeFileSync(fresh, markdown, { flag: "wx" });
  renameSync(fresh, file);
  return { ...about, status: "written" };
}

function say(
  conversion: Conversion,
  written: readonly Written[],
  { io, replaced }: { readonly io: Io; readonly replaced: ReadonlySet<string> },
): void {
  const style = styleFor(io.stdout, io);
  const pathOf = (path: string): string => printableLine(shortPaths(path, io));
  for (const each of written) {
    const shown = { ...each, file: pathOf(each.file), isReplacing: replaced.has(each.name) };
    io.stdout.write(describe(shown, style));
  }
  const broken = conversion.files.flatMap(({ diagnostics, file }) => {
    const error = diagnostics.find(({ severity }) => severity === "error");
    return error === undefined ? [] : [{ message: error.message, source: file }];
  });
  for (const { message, source } of [...broken, ...conversion.refused]) {
    const line = `${pathOf(source)}: ${printableLine(message)}`;
    io.stderr.write(`${style.paint.bad(style.glyphs.failed)} ${line}\n`);
  }
  for (const { kind, name, source } of conversion.duplicates) {
    const what = `The ${kind} ${printableLine(name)} is defined more than once`;
    io.stderr.write(`! ${what}; the stricter definition counts. Left out: ${pathOf(source)}\n`);
  }
  const servers = Object.keys(conversion.servers).map(printableLine);
  if (servers.length > 0) {
    const block = printableJson({ mcp: { servers: conversion.servers } }, 2);
    io.stdout.write(
      `\n${countOf(servers.length, "MCP server")} (${servers.join(", ")}), for your own configuration (JSON is YAML too):\n${block}\n`,
    );
  }
  for (const file of conversion.skills) {
    io.stdout.write(`A skill, used where it is or copied to .mandate/skills: ${pathOf(file)}\n`);
  }
}

/** What is written into a project waits for trust, as anything that is found in it. */
async function sayEffect(folder: string, io: Io): Promise<void> {
  const waits = await withControl(io, async (control) => {
    return waitingContent(control).some(({ file }) => isSelected({ file, name: "" }, folder, "/"));
  });
  const path = printableLine(shortPaths(folder, io));
  const next = waits
    ? `They have no effect until you trust them: ${io.program} profiles trust ${path}`
    : `See the profiles in effect: ${io.program} profiles`;
  io.stderr.write(`${next}\n`);
}

function describe(
  {
    file,
    isReplacing,
    loss,
    name,
    originally,
    status,
  }: Written & { readonly isReplacing: boolean },
  { glyphs, paint }: Style,
): string {
  const done = { written: paint.good(glyphs.done), planned: glyphs.queued, kept: paint.warn("!") };
  const note =
    status === "kept"
      ? `  is there already; ${/\.md$/.test(file) ? "--force replaces it" : "remove it first"}`
      : "";
  const place =
    originally === undefined
      ? isReplacing && `takes the place of the profile "${name}" that you already have`
      : `called "${originally}" in its own program: you already have a profile of that name`;
  const lines = loss.map(({ detail, field, kind }) => {
    return paint.dim(`    ${kind} ${printableLine(`${field}: ${detail}`)}`);
  });
  const first = `${done[status]} ${name}  ${paint.dim(file)}${note}`;
  return `${[first, ...(place ? [`    ${place}`] : []), ...lines].join("\n")}\n`;
}
