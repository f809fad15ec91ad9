/**
 * The process that soaks: the product as `mandate serve` has it, on the scripted model. It tells its
 * parent where it listens, and from then on how it is: node --expose-gc server.ts <home> <everyMs>.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Forks } from "../../../src/application/replay.ts";
import { AccessTokens, installationToken } from "../../../src/control/access/access-tokens.ts";
import { scriptedModel } from "../../../src/models/scripted/scripted-model.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { serveRuntime } from "../../../src/surfaces/http/serve-runtime.ts";
import { findDashboard, staticFiles } from "../../../src/surfaces/http/static-files.ts";
import { DeltaHub } from "../../../src/surfaces/http/streams/sse-deltas.ts";
import { profiles, script } from "./cast.ts";
import { startSampling } from "./sample.ts";

export interface Listening {
  readonly url: string;
  readonly token: string;
  readonly workspace: string;
}

async function serveHere(home: string, everyMs: number): Promise<void> {
  const workspace = join(home, "..", "workspace");
  mkdirSync(join(workspace, "docs"), { recursive: true });
  writeFileSync(join(workspace, "docs/north.md"), "It is dry in the north.\n");
  writeFileSync(join(workspace, "docs/large.md"), "A line of a long document.\n".repeat(4000));
  const deltas = new DeltaHub();
  const forks = new Forks();
  const runtime = await createRuntime({
    consent: "named",
    environment: { MANDATE_HOME: home, HOME: home, PATH: process.env["PATH"] ?? "" },
    cwd: workspace,
    application: "http",
    // Not what is looked for, and a disk that is flushed all the time disturbs whoever else measures.
    synchronous: "normal",
    profiles,
    scripted: scriptedModel(script),
    maxConcurrent: 50,
    // So few children that a client without a session goes through many runs.
    limits: { maxChildren: 20, backoffMs: 20, runTokens: 1e9, maxTokens: 1e9, defaultTokens: 1e7 },
    onDelta: deltas.hear,
    middleware: [forks.middleware],
  });
  const file = join(home, "tokens", "local");
  const token = installationToken(file);
  const tokens = new AccessTokens(runtime.store, file);
  const folder = findDashboard();
  const server = await serveRuntime({
    host: { runtime, tokens, workspaces: [workspace], startedAt: Date.now(), forks },
    port: 0,
    deltas,
    staticFiles: folder === undefined ? undefined : staticFiles(folder),
  });
  const sampling = startSampling(runtime.store, join(home, "mandate.db"), everyMs, (sample) =>
    process.send?.({ sample }),
  );
  const listening: Listening = { url: server.url, token, workspace };
  process.send?.({ listening });
  process.once("disconnect", () => process.exit(1));
  process.once("message", async () => {
    sampling.stop();
    await server.close(2000);
    await runtime.close();
    process.exit(0);
  });
}

const [, , home = "", everyMs = "10000"] = process.argv;
await serveHere(home, Number(everyMs));
