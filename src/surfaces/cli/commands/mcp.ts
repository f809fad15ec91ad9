import { realpathSync } from "node:fs";
import { loadConfig } from "../../../control/load-config.ts";
import type { OfferedWays } from "../../mcp/prompts.ts";
import type { StdioOptions } from "../../mcp/stdio/serve-stdio.ts";
import { type Arguments, type Command, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findFolder } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import { type Io, localUser } from "../io.ts";
import {
  applicationFor,
  chosenPlaybook,
  openRuntime,
  readOnlyOption,
  runtimeOptions,
} from "../open-runtime.ts";

export const mcpCommand: Command = {
  name: "mcp",
  usage: "[options]",
  about:
    "Serves the delegation tools to another program's agent, over MCP on standard input and output.\n" +
    "MCP clients start this command; see docs/guides/mcp.md. Work happens in the client's roots, or\n" +
    "for a client without roots in the folder in which it was started.",
  options: {
    workspace: text(
      "DIR",
      "the only folder that work may happen in, whatever the client's roots are",
      "C",
    ),
    "read-only": readOnlyOption,
    ...runtimeOptions,
    ...consentOptions,
  },
  examples: ["mcp", "mcp --workspace ~/projects/harbour --read-only"],
  run: serve,
};

async function serve(given: Arguments, io: Io): Promise<number> {
  const { guardStdout, serveStdio } = await import("../../mcp/stdio/serve-stdio.ts");
  const folder = realpathSync(findFolder(given, io));
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const release = io.onSignal(() => stop());
  const ways = await waysOf(folder, io);
  const served = serveStdio({
    input: process.stdin,
    principal: localUser,
    ways,
    write: guardStdout(stop),
    warn: (sentence) => io.stderr.write(`mandate mcp: ${sentence}\n`),
    open: (client) => open(client, folder, given, io),
  });
  await Promise.race([served.ended, stopped]);
  await served.close();
  release();
  return exitCode.done;
}

/**
 * The tools that the instructions name before a runtime is open. A project's file may switch `spawn`
 * off, and a file may be unreadable: then the instructions name only tools that always exist.
 */
async function waysOf(folder: string, { environment }: Io): Promise<OfferedWays> {
  const { offeredWays } = await import("../../mcp/prompts.ts");
  try {
    const { found, own } = await loadConfig({ cwd: folder, environment });
    const ways = offeredWays(own);
    return found.length === 0 ? ways : { ...ways, spawn: ways.spawn && !ways.delegation };
  } catch {
    return { delegation: true, spawn: false };
  }
}

/** Loaded when a request needs it: clients do not wait long for the first answer. */
async function open(
  client: string,
  folder: string,
  given: Arguments,
  io: Io,
): ReturnType<StdioOptions["open"]> {
  const { LocalClientSession } = await import("../../mcp/client-session.ts");
  const application = applicationFor(chosenPlaybook(given, io));
  const runtime = await openRuntime(given, io, application, { cwd: folder });
  // A client starts this process: a flag in its settings can give consent, and no person can be asked.
  if (given.text("trust-folder") !== undefined || given.flag("force")) {
    const { ask: _ask, ...silent } = io;
    await requireConsent(folder, { given, io: silent, runtime });
  }
  const isNamed = given.text("workspace") !== undefined;
  const isOffered = isNamed || isProject(folder, io);
  if (!isOffered) io.stderr.write(`mandate mcp: ${folder} is no project. ${remedy}\n`);
  const session = new LocalClientSession({
    runtime,
    client,
    principal: localUser,
    folders: isOffered ? [folder] : [],
    allowed: isNamed ? [folder] : undefined,
    readOnly: given.flag("read-only"),
  });
  return {
    session,
    async close() {
      await session.close();
      await runtime.close();
    },
  };
}

const remedy = "Clients without roots get no folder to work in; name one with --workspace.";

/** A client may start Mandate anywhere: the home folder and the root folder are not projects. */
function isProject(folder: string, { environment }: Io): boolean {
  const isHome = [environment["HOME"], environment["USERPROFILE"]].includes(folder);
  return !isHome && folder !== realpathSync("/");
}
