import { realpathSync } from "node:fs";
import { AccessTokens } from "../../../control/access/access-tokens.ts";
import { installationToken } from "../../../control/access/installation-token.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import type { RunningServer } from "../../http/serve.ts";
import type { DeltaHub } from "../../http/streams/sse-deltas.ts";
import type { Io } from "../io.ts";
import { printable } from "../printable.ts";

/** The port of `mandate serve`, and how many after it are tried when it is taken. */
const usualPort = 4848;
const mostNeighbours = 20;

export interface DemoPage {
  readonly url: string;
  readonly port: number;
  /** What a person should know about where it is, in sentences. */
  readonly notices: readonly string[];
  /** An address that opens the page at this path, once and within a minute. */
  link(path: string): string;
  close(): Promise<void>;
}

export interface DemoPageOptions {
  readonly runtime: Runtime;
  readonly deltas: DeltaHub;
  readonly io: Io;
  /** The file of the installation's token. */
  readonly tokens: string;
  /** Where work that is started in the page may happen; it exists. */
  readonly workspace: string;
  /** Exactly this one; absent: the usual one, or the next that is free. */
  readonly port: number | undefined;
}

/** The dashboard of `mandate serve` over the demonstration's own log, in this process. */
export async function openDemoPage(options: DemoPageOptions): Promise<DemoPage> {
  const { deltas, io, runtime } = options;
  const { serveRuntime } = await import("../../http/serve-runtime.ts");
  const { findDashboard, staticFiles } = await import("../../http/static-files.ts");
  const token = installationToken(options.tokens);
  const tokens = new AccessTokens(runtime.store, options.tokens, runtime.clock);
  const workspaces = [realpathSync(options.workspace)];
  const folder = findDashboard();
  const server = await listen(options.port, (port) =>
    serveRuntime({
      host: { runtime, tokens, workspaces, startedAt: io.now() },
      port,
      deltas,
      staticFiles: folder === undefined ? undefined : staticFiles(folder),
      // An error may quote what a client said: no line begins with that.
      log: (said) => io.stderr.write(`${printable(said).replaceAll("\n", "\n  ")}\n`),
    }),
  );
  const hasMoved = options.port === undefined && server.port !== usualPort;
  return {
    url: server.url,
    port: server.port,
    notices: [
      ...(hasMoved ? [`Port ${usualPort} is taken, so the dashboard is at ${server.port}.`] : []),
      ...(folder === undefined ? ["The page is not built here: npm run build makes it."] : []),
    ],
    link: (path) => `${server.url}${path}#code=${server.pages.createCode(token).code}`,
    // Streams end at once; nobody waits for what a page that nobody looks at still asks for.
    close: () => server.close(1000),
  };
}

async function listen(
  wanted: number | undefined,
  open: (port: number) => Promise<RunningServer>,
): Promise<RunningServer> {
  if (wanted !== undefined) return open(wanted);
  for (let port = usualPort; port < usualPort + mostNeighbours; port += 1) {
    try {
      return await open(port);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return open(0);
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof MandateError)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === "EADDRINUSE" || code === "EACCES";
}
