/**
 * A server in a process of its own, which a test can kill: the product on a scripted model, with the
 * page that was built. Says on its first line where it is, with a code that opens the page once.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { AccessTokens, installationToken } from "../src/control/access/access-tokens.ts";
import { scriptedModel } from "../src/models/scripted/scripted-model.ts";
import { createRuntime } from "../src/runtime.ts";
import { serveRuntime } from "../src/surfaces/http/serve-runtime.ts";
import { staticFiles } from "../src/surfaces/http/static-files.ts";
import { testProfile } from "../src/testing/engine-fixture.ts";

export interface ServerProcess extends AsyncDisposable {
  /** Opens the page, once. */
  readonly link: string;
  readonly port: number;
  /** The installation's own: an admin's. */
  readonly token: string;
  /** As a crash or an impatient person would. */
  kill(): Promise<void>;
}

export async function startServerProcess(
  home: string,
  folder: string,
  port = 0,
): Promise<ServerProcess> {
  const file = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [file, home, folder, String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const gone = once(child, "exit");
  const refused = gone.then(([code]) => {
    throw new Error(`The server ended with ${code} before it served.`);
  });
  const [line] = (await Promise.race([once(lines, "line"), refused])) as [string];
  // From here on it ends when a test says so.
  refused.catch(() => undefined);
  const { link, token } = JSON.parse(line) as { readonly link: string; readonly token: string };
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
  };
  return {
    ...{ link, token, kill },
    port: Number(new URL(link).port),
    [Symbol.asyncDispose]: kill,
  };
}

async function serveHere(home: string, folder: string, port: number): Promise<void> {
  const workspace = join(home, "..", "harbour");
  mkdirSync(workspace, { recursive: true });
  const runtime = await createRuntime({
    consent: "named",
    environment: { MANDATE_HOME: home, HOME: home },
    cwd: workspace,
    application: "http",
    profiles: [testProfile("worker", { tools: [] })],
    scripted: scriptedModel(({ caller }) => ({ text: `I looked into ${caller.task}` })),
  });
  const file = join(home, "tokens", "local");
  const token = installationToken(file);
  const tokens = new AccessTokens(runtime.store, file);
  const server = await serveRuntime({
    host: { runtime, tokens, workspaces: [workspace], startedAt: Date.now() },
    port,
    staticFiles: staticFiles(folder),
    linkHint: (taken) => `mandate serve --link --port ${taken}`,
    log: () => undefined,
  });
  const { code } = server.pages.createCode(token);
  process.stdout.write(`${JSON.stringify({ link: `${server.url}/#code=${code}`, token })}\n`);
}

const [, self, home, folder, port] = process.argv;
if (self === fileURLToPath(import.meta.url)) {
  await serveHere(home ?? "", folder ?? "", Number(port));
}
