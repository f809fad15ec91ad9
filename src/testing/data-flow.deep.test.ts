import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { verifyHome } from "../application/verify-home.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { cases } from "./cases.test-support.ts";
import { git, initRepository } from "./git-workspace.test-support.ts";

const rounds = cases(50, 3);
const program = fileURLToPath(new URL("./data-flow.test-support.ts", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly commits: number;
}

/** One life of a worker; `mostCommits`: it does not get any further. */
function live(home: string, workspace: string, mostCommits?: number): Promise<Ended> {
  const child = spawn(process.execPath, ["--no-warnings", program, home, workspace], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let commits = 0;
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
    commits = out.split("committed").length - 1;
    if (mostCommits !== undefined && commits >= mostCommits) child.kill("SIGKILL");
  });
  child.stderr.on("data", (chunk) => {
    out += String(chunk);
  });
  return new Promise((resolve) => {
    child.on("close", (code) => resolve({ code, out, commits }));
  });
}

test(`the orchestrator's example ends in the same tree after a kill at any point, ${rounds} times`, {
  timeout: 60_000 + rounds * 20_000,
}, async () => {
  const trees = new Set<string>();
  let length = 0;
  for (let round = 0; round <= rounds; round++) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-flow-")));
    const [home, workspace] = [join(folder, "home"), join(folder, "workspace")];
    mkdirSync(workspace);
    initRepository(workspace, { "README.md": "A shop.\n" });
    // The first round is undisturbed, and tells how many commits one makes.
    if (round > 0) await live(home, workspace, Math.ceil((round * length) / (rounds + 1)));
    const ended = await live(home, workspace);
    if (round === 0) length = ended.commits;
    expect(ended, ended.out).toMatchObject({ code: 0 });
    const places = { home, database: join(home, "mandate.db") };
    const artifacts = join(home, "artifacts");
    const store = new SqliteStore({ path: places.database, synchronous: "normal", artifacts });
    const report = await verifyHome(store, { places, settled: true });
    const failures: string[] = [];
    for await (const { payload, type } of store.readEvents({})) {
      if (type === "agent.subagent_failed") failures.push(`${payload.code}: ${payload.error}`);
      if (type === "run.finished") failures.push(`the run ${payload.outcome}: ${payload.reason}`);
    }
    await store.close();
    expect(report.violations).toEqual([]);
    expect(failures).toEqual(["the run succeeded: every delegation is closed"]);
    const files = ["README.md", "login.html", "style.css"];
    const texts = files.map((path) => readFileSync(join(workspace, path), "utf8"));
    trees.add(`${texts.join("|")} ${git(workspace, "status", "--porcelain", "--", ...files)}`);
    rmSync(folder, { recursive: true, force: true });
  }
  expect([...trees]).toHaveLength(1);
});
