import { spawn } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Options } from "./options.ts";
import type { Report } from "./report.ts";

/** Where the peers' benchmark lies, when this machine has it. */
export function findPeersBenchmark(root: string): string | undefined {
  const folder = process.env["MANDATE_PEERS_BENCH"] ?? join(root, "../shared/bench/peers");
  return existsSync(join(folder, "run.mjs")) ? folder : undefined;
}

/** Runs it with our own subject beside the floors and peers, on the Node that runs this. */
export async function runPeersBenchmark(
  original: string,
  subject: string,
  options: Options,
): Promise<Report> {
  const folder = copyWhatMatters(original);
  await installMissing(folder, options.only);
  // A ratio of two short times needs more of them than the rest.
  const [long, others] = [["long200"], options.measures.filter((name) => !apart.has(name))];
  const reports: Report[] = [];
  if (others.length > 0)
    reports.push(await runOnce(folder, subject, options, others, options.reps));
  if (options.measures.includes("long200")) {
    const reps = options.quick ? options.reps : Math.max(10, options.reps);
    reports.push(await runOnce(folder, subject, options, long, reps));
  }
  const [first] = reports;
  if (first === undefined) throw new Error("There is nothing to measure.");
  return { ...first, measures: Object.assign({}, ...reports.map(({ measures }) => measures)) };
}

/** Measured in another way than the rest. */
const apart: ReadonlySet<string> = new Set(["long200", "install"]);

/** The original may be read-only, and packages have to be installed beside it. */
function copyWhatMatters(original: string): string {
  const folder = join(tmpdir(), "mandate-bench-peers");
  for (const path of globSync("**/*", { cwd: original, exclude: ["**/node_modules"] })) {
    if (!statSync(join(original, path)).isFile()) continue;
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), readFileSync(join(original, path)));
  }
  return folder;
}

interface Manifest {
  readonly bench: { readonly id: string };
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function installMissing(folder: string, only: Options["only"]): Promise<void> {
  for (const file of globSync("subjects/*/package.json", { cwd: folder })) {
    const subject = join(folder, dirname(file));
    const manifest = JSON.parse(readFileSync(join(folder, file), "utf8")) as Manifest;
    const packages = Object.keys(manifest.dependencies ?? {});
    if (only !== null && !only.includes(manifest.bench.id)) continue;
    if (packages.every((name) => existsSync(join(subject, "node_modules", name)))) continue;
    process.stderr.write(`installing ${manifest.bench.id} (${packages.length} packages)\n`);
    const install = ["install", "--no-audit", "--no-fund", "--no-package-lock"];
    const where = { cwd: subject, env: { ...process.env, ...headers() } };
    await run("npm", install, where);
    // Newer ones of npm build nothing that was not approved, in silence; older ones have built it.
    await run("npm", ["install-scripts", "approve", "--all"], where).catch(() => undefined);
    // Without the headers of this Node it cannot be built: what needs it is then not measured.
    await run("npm", ["rebuild"], where).catch(() => undefined);
  }
}

/** Packages that are compiled must fit the Node that runs them, which brings its own headers. */
function headers(): Record<string, string> {
  const node = dirname(dirname(realpathSync(process.execPath)));
  return existsSync(join(node, "include/node")) ? { npm_config_nodedir: node } : {};
}

async function runOnce(
  folder: string,
  subject: string,
  { only, quick }: Options,
  measures: readonly string[],
  reps: number,
): Promise<Report> {
  const json = join(folder, `out-${process.pid}.json`);
  const words = ["run.mjs", "--json", json, "--subject", subject];
  words.push(
    "--measures",
    measures.join(","),
    "--reps",
    String(reps),
    ...(only === null ? [] : ["--only", only.join(",")]),
    ...(quick ? ["--quick"] : []),
  );
  await run(process.execPath, words, { cwd: folder, env: process.env });
  return JSON.parse(readFileSync(json, "utf8")) as Report;
}

function run(
  command: string,
  words: readonly string[],
  where: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { ...where, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${words[0]} ended with ${code}.`));
    });
  });
}
