import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { nearestKey } from "../../../agents/documents/nearest-key.ts";
import { userHomeOf } from "../../../control/places.ts";
import { serverVariables } from "../../../diagnose.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { wrapFor } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import { consentByInit, requireProjectFolder } from "../folder-consent.ts";
import {
  type ClientChange,
  carryOut,
  hasEntry,
  planEntry,
  planRemoval,
  shownEntry,
} from "../init/client-file.ts";
import { type Launch, type McpClient, mcpClients, type UserPlace } from "../init/mcp-clients.ts";
import { agrees, type Io } from "../io.ts";
import { printable, printJson } from "../printable.ts";
import { isOnPath, npxSource } from "../process-io.ts";
import { styleFor } from "../style.ts";

const names = mcpClients.map(({ name }) => name);

export const initCommand: Command = {
  name: "init",
  usage: "[options]",
  about:
    "Sets up this folder: asks three questions and writes a commented mandate.yaml. That is also your\n" +
    "consent to agents working in this folder (docs/guides/security.md).\n\n" +
    "With --client it adds our tools to the agent that you already use: it writes an entry for\n" +
    "`mandate mcp` into the file in which the client looks for MCP servers. It shows the entry first,\n" +
    "and asks; without a terminal it writes only with --yes, and exits with 1 otherwise. The rest of the\n" +
    "file stays as it is, and --remove restores what was there.",
  options: {
    client: text("NAME", names.join(", ")),
    user: flag("for all your projects instead of this folder"),
    remove: flag("remove the entry"),
    yes: flag("write without asking", "y"),
    force: flag("even in your home folder or /"),
    json: jsonOption,
  },
  examples: [
    "init",
    "init --client claude-code",
    "init --client codex --user",
    "init --client cursor --remove",
  ],
  run: async (given, io) => {
    if (given.text("client") === undefined) return setUp(given, io);
    const client = requireClient(given.text("client") ?? "");
    const place = placeOf(io);
    const file = fileOf(client, given.flag("user"), place, io);
    const isProjects = file.replace(/\.jsonc$/, ".json") !== client.userFile(place);
    if (isProjects && !given.flag("remove")) requireProjectFolder(given, io);
    if (given.flag("remove")) {
      const isRemoved = await settle(client, planRemoval(client, file, place), given, io);
      return isRemoved ? exitCode.done : exitCode.failed;
    }
    const launch = await launchOf(io, isProjects);
    const change = planEntry(client, file, launch, place);
    if (change.isNeeded && isProjects) warnOfOwnPaths(launch, file, io);
    const isSettled = await settle(client, change, given, io);
    // A person who only looks at an existing entry has not consented.
    const isConsent = change.isNeeded || given.flag("yes") || io.ask !== undefined;
    if (isSettled && isConsent && isProjects) await consentByInit(given, io);
    return isSettled ? exitCode.done : exitCode.failed;
  },
};

/** A project's file is shared with everyone who works on the project. */
function warnOfOwnPaths({ command }: Launch, file: string, io: Io): void {
  if (!isAbsolute(command)) return;
  const warning =
    `Your PATH has no mandate that is this program, so the entry has paths of this machine, and ${printable(basename(file))} ` +
    "may be shared with the project. --user writes it into your own settings instead; where " +
    "Mandate is installed in the project, change it to: npx --no mandate mcp\n";
  io.stderr.write(wrapFor(io.stderr, warning));
}

/** --user and --remove belong to a client's file. */
async function setUp(given: Arguments, io: Io): Promise<number> {
  if (given.flag("user") || given.flag("remove")) {
    const known = `There are ${names.join(", ")}.`;
    throw new MandateError("usage", `Name a client: --client NAME. ${known}`);
  }
  const { setUpProject } = await import("../init/set-up-project.ts");
  return setUpProject(given, io);
}

function requireClient(name: string): McpClient {
  const bare = (text: string): string => text.replaceAll(/[-_. ]/g, "").toLowerCase();
  const wordsOf = (each: McpClient): readonly string[] => [each.name, each.title, ...each.aliases];
  const client = mcpClients.find((each) => wordsOf(each).some((word) => bare(word) === bare(name)));
  if (client !== undefined) return client;
  const known = `There are ${names.join(", ")}.`;
  const nearest = nearestKey(name, mcpClients.flatMap(wordsOf));
  const meant = mcpClients.find((each) => nearest !== undefined && wordsOf(each).includes(nearest));
  const hint = meant === undefined ? known : `Did you mean ${meant.name}?`;
  throw new MandateError("usage", `There is no client ${JSON.stringify(name)}. ${hint}`);
}

function placeOf({ environment }: Io): UserPlace {
  return { home: userHomeOf(environment), environment, platform: process.platform };
}

function fileOf(client: McpClient, isUsers: boolean, place: UserPlace, io: Io): string {
  if (isUsers || client.projectFile === null) return chosen(client, client.userFile(place), place);
  const main = join(io.cwd, client.projectFile);
  for (const file of client.readsJsonc ? [main, `${main}c`] : [main]) requireInside(io.cwd, file);
  return chosen(client, main, place);
}

/** A file that has comments is used instead of a second one beside it. */
function chosen(client: McpClient, main: string, place: UserPlace): string {
  const commented = `${main}c`;
  if (!client.readsJsonc || !existsSync(commented)) return main;
  return hasEntry(client, main, place) && !hasEntry(client, commented, place) ? main : commented;
}

/** A link of a project points where its author wants; a link in the user's own files is trusted. */
function requireInside(folder: string, file: string): void {
  const real = [file, dirname(file)].flatMap((path) =>
    existsSync(path) ? realpathSync(path) : [],
  );
  const [place = folder] = real;
  const way = relative(realpathSync(folder), place);
  if (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return;
  throw new MandateError(
    "config-invalid",
    `${file} is a link to ${place}, outside this folder. Nothing was changed. Remove the link, or use --user.`,
  );
}

/** Writes the change if the person agrees; gives whether the file has the wanted content then. */
async function settle(
  client: McpClient,
  change: ClientChange,
  given: Arguments,
  io: Io,
): Promise<boolean> {
  const isJson = given.flag("json");
  if (!isJson) show(client, change, io);
  const written = change.isNeeded && (await isAgreed(given, io));
  if (written) carryOut(change, placeOf(io));
  if (isJson) {
    const { file, path, before, after, isNeeded } = change;
    const about = { client: client.name, file, path, before, after, isNeeded, written };
    printJson(io, about);
  } else if (written) {
    const isRemoval = change.after === undefined;
    io.stdout.write(`${isRemoval ? "Removed from" : "Written"}: ${printable(change.file)}\n`);
    if (!isRemoval) io.stdout.write(wrapFor(io.stdout, `${client.next}\n`));
  } else if (change.isNeeded) {
    const [done, does] =
      change.after === undefined ? ["removed", "removes"] : ["written", "writes"];
    io.stderr.write(`Nothing was ${done}.${io.ask ? "" : ` --yes ${does} it.`}\n`);
  }
  return written || !change.isNeeded;
}

/** Shows the entry before and after the change, and its place. */
function show(
  client: McpClient,
  { file, path, before, after, isNeeded }: ClientChange,
  io: Io,
): void {
  const { paint } = styleFor(io.stdout, io);
  const where = `${path.join(".")} in ${file}`;
  if (!isNeeded) {
    const state = after === undefined ? "has no entry" : "has the entry already";
    io.stdout.write(`${client.title} ${state}: ${printable(where)}\n`);
    return;
  }
  io.stdout.write(`${client.title}: ${paint.strong(printable(where))}\n`);
  for (const [sign, value] of [
    ["-", before],
    ["+", after],
  ] as const) {
    if (value === undefined) continue;
    const tint = sign === "-" ? paint.bad : paint.good;
    for (const line of shownEntry(client, path, value).split("\n")) {
      io.stdout.write(`${tint(`${sign} ${printable(line)}`)}\n`);
    }
  }
}

async function isAgreed(given: Arguments, io: Io): Promise<boolean> {
  if (given.flag("yes")) return true;
  if (io.ask === undefined || given.flag("json")) return false;
  return agrees(io.ask, "Write it? [y/N] ");
}

/**
 * How a client starts Mandate: by name where the PATH finds this program and through npx where npx
 * started it, so that the file also works for others who have the project; otherwise by the full path.
 */
async function launchOf({ cwd, environment }: Io, isProjects: boolean): Promise<Launch> {
  const own = process.argv[1] ?? "";
  const variables = await serverVariables(environment, cwd);
  // What npx adds to the PATH is not there when a client starts.
  const source = npxSource(own, cwd);
  if (source === "cache") return { command: "npx", args: ["--yes", "mandate", "mcp"], variables };
  if (source === "project" && isProjects) {
    return { command: "npx", args: ["--no", "mandate", "mcp"], variables };
  }
  return source === undefined && isOnPath(own, environment)
    ? { command: "mandate", args: ["mcp"], variables }
    : { command: process.execPath, args: [realOrSame(own), "mcp"], variables };
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
