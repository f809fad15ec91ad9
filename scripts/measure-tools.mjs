// Holds the searches of the workspace against ripgrep itself, and times working copies:
// npm run -s measure:tools [-- --files 50000 --repeat 5 --only searches,copies,huge]
//
// Ripgrep is run bare, over the same tree, in turns with our own tools, so that what else the
// machine does falls on both. The bars: with ripgrep at most twice its time; a working copy of
// 10,000 files in under two seconds. Exits with 1 when one is missed. `--only huge` makes copies of
// 100,000 files; `--folder` says where to measure, if not where temporary files go.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { globFiles } from "../src/tools/files/glob-files.ts";
import { grepTool } from "../src/tools/files/grep-files.ts";
import { findRipgrep } from "../src/tools/files/search/ripgrep.ts";
import { bindWorkspace } from "../src/workspaces/bind-workspace.ts";
import { collectChanges } from "../src/workspaces/git/copies/collect-changes.ts";
import { createWorkingCopy } from "../src/workspaces/git/copies/create-working-copy.ts";
import { discardWorkingCopy } from "../src/workspaces/git/copies/discard-working-copy.ts";
import { integrate } from "../src/workspaces/git/integration/integrate.ts";

const largestRatio = 2;
const longestCopyMs = 2000;

const { values } = parseArgs({
  options: {
    files: { type: "string", default: "50000" },
    folder: { type: "string", default: tmpdir() },
    only: { type: "string", default: "searches,copies" },
    repeat: { type: "string", default: "5" },
  },
});
const fileCount = Number(values.files);
const repeat = Number(values.repeat);
const found = await findRipgrep();
const ripgrep = found?.file ?? null;
const base = realpathSync(mkdtempSync(join(values.folder, "mandate-measure-")));
const missed = [];
try {
  const parts = values.only.split(",");
  if (parts.includes("searches")) await measureSearches(join(base, "tree"));
  if (parts.includes("copies")) await measureCopies(10_000, repeat);
  if (parts.includes("huge")) await measureCopies(100_000, 1);
} finally {
  rmSync(base, { recursive: true, force: true });
}
for (const sentence of missed) console.log(`MISSED: ${sentence}`);
process.exitCode = missed.length > 0 ? 1 : 0;

/** Source files as they are: many small ones, few large ones, folders in folders, some ignored. */
function makeTree(root, count) {
  const random = numbers(1);
  const words = ["const", "value", "return", "function", "import", "request", "answer", "index"];
  const line = (index) => {
    const [a, b, c] = [0, 1, 2].map(() => words[Math.floor(random() * words.length)]);
    return `  ${a} ${b}${Math.floor(random() * 100_000)} = ${c}(${index});`;
  };
  const pool = Array.from({ length: 5000 }, (_, index) => line(index));
  const endings = [".ts", ".ts", ".ts", ".tsx", ".md", ".json", ".css", ".py"];
  for (let index = 0; index < count; index += 1) {
    const group = Math.floor(index / 25);
    const folder = join(root, `package-${group % 40}`, `part-${group % 7}`, `folder-${group}`);
    if (index % 25 === 0) mkdirSync(folder, { recursive: true });
    const length = random() < 0.02 ? 800 : 20 + Math.floor(random() * 100);
    const from = Math.floor(random() * (pool.length - length));
    const lines = pool.slice(from, from + length);
    if (index % 5000 === 17) lines.push("needleInTheHaystack();");
    if (index % 17 === 0) lines.push("// TODO: look at this again");
    if (index % 170 === 0) lines.push("throw new RangeError(index);");
    const name = `file-${index}${endings[index % endings.length]}`;
    writeFileSync(join(folder, name), `${lines.join("\n")}\n`);
  }
  writeFileSync(join(root, ".gitignore"), "dist/\n*.log\n/build\n!keep.log\n");
}

/** Numbers from a seed, so that every machine gets the same tree. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function measureSearches(tree) {
  makeTree(tree, fileCount);
  const workspace = bindWorkspace({ root: tree, isolation: "shared", allowWrites: false });
  const context = { workspace, signal: new AbortController().signal };
  const withIt = grepTool(async () => found);
  const withoutIt = grepTool(async () => null);
  const rows = [];
  // Ripgrep is asked for what ours gives: every file, hidden ones included, with line numbers.
  const search = ["--hidden", "--line-number", "--no-heading"];
  const most = { limit: 5000 };
  const greps = [
    ["a rare literal", { pattern: "needleInTheHaystack" }, []],
    ["a rare literal, any case", { pattern: "NEEDLEinthehaystack", ignore_case: true }, ["-i"]],
    ["nothing there", { pattern: "never_written_anywhere" }, []],
    ["a word of 1 in 170 files", { pattern: "RangeError", ...most }, []],
    ["the same, with context", { pattern: "RangeError", context: 2, ...most }, ["-C", "2"]],
    ["the same, counted", { pattern: "RangeError", output: "count", ...most }, ["-c"]],
    ["a regular expression", { pattern: "new \\w+Error\\(|never[a-z]{3}", ...most }, []],
    ["one that begins anyhow", { pattern: "[Nn]eedle[A-Z]\\w+stack", ...most }, []],
    ["a glob filter", { pattern: "RangeError", glob: "*.tsx", ...most }, ["-g", "*.tsx"]],
    [
      "a folder as glob",
      { pattern: "Error", glob: "package-7/**", ...most },
      ["-g", "package-7/**"],
    ],
    ["more than fits: 1 in 17 files", { pattern: "TODO", output: "files", ...most }, ["-l"]],
    ["more than fits: a common word", { pattern: "return", ...most }, []],
  ];
  for (const [title, input, words] of greps) {
    const asked = (tool) => () => tool.execute(tool.input.parse(input), context);
    const bare = () => runRipgrep(tree, [...search, ...words, "-e", input.pattern, "./"]);
    rows.push(await compare(`grep: ${title}`, bare, asked(withIt), asked(withoutIt)));
  }
  const globs = [
    "*.tsx",
    "**/part-3/**/*.ts",
    "package-7/**",
    "nothing-like-this.*",
    "*.{md,json}",
  ];
  for (const pattern of globs) {
    const input = { pattern, limit: 5000 };
    const asked = () => globFiles.execute(globFiles.input.parse(input), context);
    const bare = () => runRipgrep(tree, ["--files", "--hidden", "-g", pattern, "./"]);
    rows.push(await compare(`glob: ${pattern}`, bare, asked));
  }
  const newest = { pattern: "*.tsx", sort: "modified", limit: 50 };
  const asked = () => globFiles.execute(globFiles.input.parse(newest), context);
  const bare = () => runRipgrep(tree, ["--files", "--hidden", "--sortr=modified", "-g", "*.tsx"]);
  rows.push(await compare("glob: *.tsx, newest first", bare, asked));
  const version = ripgrep === null ? "no ripgrep" : execFileSync(ripgrep, ["--version"]).toString();
  console.log(
    `${fileCount} files, ${version.split("\n")[0]}, Node ${process.version}, ` +
      `${availableParallelism()} cores, medians of ${repeat} in ms\n`,
  );
  printTable(["", "rg", "with it", "ratio", "without", "ratio"], rows);
}

/** In turns; the first round only warms up. */
async function compare(title, bare, asked, withoutIt) {
  const times = { bare: [], asked: [], withoutIt: [] };
  let answers = [];
  for (let round = 0; round <= repeat; round += 1) {
    const bareMs = ripgrep === null ? undefined : await timed(bare);
    const first = await timed(asked);
    const second = withoutIt === undefined ? undefined : await timed(withoutIt);
    answers = [first.value, second?.value ?? first.value];
    if (round === 0) continue;
    if (bareMs !== undefined) times.bare.push(bareMs.ms);
    times.asked.push(first.ms);
    if (second !== undefined) times.withoutIt.push(second.ms);
  }
  if (answers[0] !== answers[1]) missed.push(`${title} answers otherwise without ripgrep`);
  const [rg, ours, alone] = [times.bare, times.asked, times.withoutIt].map(median);
  if (rg !== undefined && ours / rg > largestRatio) {
    missed.push(`${title} takes ${(ours / rg).toFixed(2)} times as long as ripgrep`);
  }
  const ratio = (ms) => (rg === undefined || ms === undefined ? "" : (ms / rg).toFixed(2));
  const shown = (ms) => (ms === undefined ? "" : ms.toFixed(0));
  return [title, shown(rg), shown(ours), ratio(ours), shown(alone), ratio(alone)];
}

function runRipgrep(tree, words) {
  return new Promise((resolve, reject) => {
    const stdio = ["ignore", "pipe", "inherit"];
    const child = spawn(ripgrep, ["--no-config", ...words], { cwd: tree, stdio });
    child.stdout.resume();
    child.on("error", reject);
    child.on("close", resolve);
  });
}

async function measureCopies(count, rounds) {
  const source = join(base, `repository-${count}`);
  const home = join(base, `home-${count}`);
  makeTree(source, count);
  const git = (...words) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@example.org", ...words], {
      cwd: source,
    });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-q", "-m", "state");
  git("repack", "-q", "-a", "-d");
  mkdirSync(home);
  const times = { floor: [], clone: [], copy: [], collect: [], merge: [], discard: [] };
  const copies = [];
  // Nothing is removed before the end: some file systems take long to give what was just freed out
  // again, and that is not what is measured here.
  for (let round = 0; round < rounds; round += 1) {
    times.floor.push(
      (await timed(() => makeTree(join(base, `plain-${count}-${round}`), count))).ms,
    );
    const clone = join(base, `clone-${count}-${round}`);
    times.clone.push((await timed(() => git("clone", "-q", "--shared", ".", clone))).ms);
    const copy = await timed(() => createWorkingCopy({ source, id: `copy-${round}`, home }));
    times.copy.push(copy.ms);
    copies.push(copy.value);
    changeTenFiles(copy.value.root, round);
    const changes = await timed(() => collectChanges(copy.value));
    times.collect.push(changes.ms);
    const merge = await timed(() => integrate({ copy: copy.value, changes: changes.value }));
    times.merge.push(merge.ms);
    if (merge.value.status !== "merged") missed.push(`a merge ended as ${merge.value.status}`);
  }
  for (const copy of copies) {
    const discard = await timed(() => discardWorkingCopy(copy, { unmerged: "keep" }));
    times.discard.push(discard.ms);
  }
  const copyMs = median(times.copy);
  // Where the file system alone takes longer than that, there is nothing to be seen of ours.
  const bar = (longestCopyMs * count) / 10_000;
  if (copyMs > Math.max(bar, median(times.floor))) {
    missed.push(`a working copy takes ${copyMs.toFixed(0)} ms`);
  }
  const titles = {
    floor: "writing the same files, and nothing else",
    clone: "git clone --shared",
    copy: `a working copy (bar: ${bar})`,
    collect: "collecting a change of 10 files",
    merge: "integrating it",
    discard: "discarding the copy",
  };
  console.log(`\na repository of ${count} files, medians of ${rounds} in ms\n`);
  const rows = Object.entries(titles).map(([name, title]) => {
    const all = times[name].map((ms) => ms.toFixed(0)).join(" ");
    return [title, median(times[name]).toFixed(0), all];
  });
  printTable(["", "median", "all"], rows);
}

function changeTenFiles(root, round) {
  const folder = join(root, "package-3", `new-${round}`);
  mkdirSync(folder);
  for (let index = 0; index < 10; index += 1) {
    writeFileSync(join(folder, `file-${index}.ts`), `export const value = ${round};\n`);
  }
}

async function timed(work) {
  const started = performance.now();
  const value = await work();
  return { ms: performance.now() - started, value };
}

function median(times) {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)];
}

function printTable(head, rows) {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column].length)),
  );
  for (const row of [head, ...rows]) {
    const [first, ...rest] = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
    );
    console.log([first, ...rest].join("  "));
  }
}
