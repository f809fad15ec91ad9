import { createHash } from "node:crypto";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { testFolder } from "../testing/test-folder.test-support.ts";

/** A workspace with every way out of it that a file system offers, and what lies beside it. */
export interface Traps {
  readonly base: string;
  readonly root: string;
  /** The runtime's own folder, inside the workspace. */
  readonly home: string;
  /** Occurs in every file that nobody may see, and nowhere else. */
  readonly canary: string;
  /** Occurs in a name in every folder that nobody may list; no path of an attack contains it. */
  readonly unseen: string;
  /** Everything outside that was looked at or changed since the traps were laid. */
  touched(): readonly string[];
}

const outsideFolders = [
  "app-evil",
  "outside",
  "outside/folder",
  "app/home",
  "skills/other/private",
];

export function layTraps(): Traps {
  const base = testFolder();
  const root = join(base, "app");
  const mark = createHash("sha256").update(base).digest("hex").slice(0, 16);
  const [canary, unseen] = [`CANARY-${mark}`, `unseen-${mark}`];
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  for (const folder of outsideFolders) {
    write(`${folder}/canary.txt`, `${canary}\n`);
    write(`${folder}/${unseen}.txt`, `${canary}\n`);
  }
  write("canary.txt", `${canary}\n`);
  write("app/home/mandate.db", canary);
  write("app/src/a.txt", "inside\n");
  write("app/src/deep/b.txt", "inside\n");
  write("skills/writing/SKILL.md", "---\ndescription: For letters.\n---\n\nWrite plainly.\n");
  write("skills/writing/guide.md", "inside\n");
  write("skills/other/SKILL.md", `---\ndescription: Not granted.\n---\n\n${canary}\n`);
  for (const place of [root, join(base, "skills/writing")]) {
    symlinkSync(join(base, "outside"), join(place, "out"));
    symlinkSync("out", join(place, "chain"));
    symlinkSync(join(base, "outside/canary.txt"), join(place, "file-out"));
    symlinkSync(join(base, "outside/missing"), join(place, "dangling"));
    symlinkSync("loop", join(place, "loop"));
    symlinkSync("/", join(place, "slash"));
    symlinkSync("/proc/self", join(place, "self"));
  }
  symlinkSync("src", join(root, "in"));
  symlinkSync("home", join(root, "home-link"));
  symlinkSync(join(base, "outside/canary.txt"), join(root, "src/.gitignore"));
  // Its content is inside as well, under this name; it may be read, and not changed.
  writeFileSync(join(base, "linked.txt"), "linked\n");
  linkSync(join(base, "linked.txt"), join(root, "hard-link"));
  const watch = watchFolders(
    base,
    outsideFolders.map((folder) => join(base, folder)),
  );
  return { base, root, home: join(root, "home"), canary, unseen, touched: watch };
}

const lastRead = new Date("2001-01-01");
const lastChanged = new Date("2002-02-02");

/**
 * What was read, listed or changed: contents and times. Reading moves the time of the last access
 * once when that lies before the last change, so it is put there.
 */
function watchFolders(base: string, folders: readonly string[]): () => readonly string[] {
  const places = folders.flatMap((folder) => [
    folder,
    ...readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => join(folder, name)),
  ]);
  for (const place of places) utimesSync(place, lastRead, lastChanged);
  const known = new Map(places.map((place) => [place, describe(place)]));
  const around = () => readdirSync(base).sort().join() + readFileSync(join(base, "linked.txt"));
  const before = around();
  return () => {
    const touched = places.filter((place) => describe(place) !== known.get(place));
    return around() === before ? touched : [...touched, base];
  };
}

function describe(place: string): string {
  // The times first: looking at the content would move them.
  const { atimeMs, mtimeMs, size, mode, nlink, ino } = lstatSync(place);
  return JSON.stringify({ atimeMs, mtimeMs, size, mode, nlink, ino });
}

/** Whether this file system tells who has read a file; many are mounted so that it does not. */
export function notesReading(folder: string): boolean {
  const file = join(folder, "read-me");
  writeFileSync(file, "x");
  utimesSync(file, lastRead, lastChanged);
  readFileSync(file);
  const { atime } = lstatSync(file);
  rmSync(file);
  return atime.getTime() !== lastRead.getTime();
}

const climbs = [
  ...["..", "../", "..\\", "%2e%2e", "%2e%2e%2f", "..%2f", "..%5c", "%252e%252e", "..%252f"],
  ...["..%c0%af", "..%ef%bc%8f", "....//", "...", "..;", ".. ", "..\t", "..\u200b", "\u2025"],
  ...[
    "\uff0e\uff0e",
    ".\u0338.",
    "{..,out}",
    "[.][.]",
    "\\.\\.",
    "./..",
    "..//",
    "../.",
    "$..",
    "*",
  ],
];
const ways = [
  ...["src", "in", "out", "chain", "file-out", "dangling", "loop", "slash", "self", "home"],
  ...["home-link", "src/deep", "new", "hard-link", "", ".", "**", ".git", "self/cwd", "self/root"],
  ...["slash/proc/self/cwd", "self/fd/3", "CON", "~", "$HOME", "`id`", "$(id)", "-", "--", "-rf"],
];
const goals = [
  ...["canary.txt", "outside/canary.txt", "app-evil/canary.txt", "etc/passwd", "etc/shadow", ""],
  ...[
    "home/mandate.db",
    "proc/self/environ",
    "outside",
    "root/.ssh/id_rsa",
    "skills/other/SKILL.md",
  ],
  ...["src/a.txt", "..", "folder/canary.txt", "guide.md", "SKILL.md", "*", "**/*", "canary.*"],
];
const endings = [
  "",
  "",
  "",
  "",
  "/",
  "/.",
  "/..",
  "\0",
  "\0.txt",
  "%00",
  "?",
  "#x",
  ";",
  " ",
  ".",
  "\n",
];

/** Hostile paths, the same ones in every run: the plain ways out first, then any mixture of parts. */
export function hostilePaths({ base, root, home }: Traps, count: number): readonly string[] {
  const starts = [
    ...["", "", "", "/", "./", "//", "///", "../", `${root}/`, `${root}-evil/`, `${base}/`],
    ...[`${root}/../`, `${home}/`, "/proc/self/cwd/", "/proc/self/root", "/dev/fd/", "/dev/stdin"],
    ...[
      "file://",
      `file://${base}/`,
      "~/",
      "\\\\?\\",
      "C:\\",
      "\\",
      "//localhost/",
      "@",
      "-f",
      "--",
    ],
  ];
  const paths = new Set<string>([
    // Some that are allowed, so that it is seen when nothing works.
    ...[
      "src/a.txt",
      "in/a.txt",
      "src/deep/../a.txt",
      "src",
      "in",
      "guide.md",
      "writing",
      "new.txt",
    ],
    ...["..", "../", "/", "../outside/canary.txt", "../app-evil/canary.txt", "/etc/passwd", "self"],
    ...["out/canary.txt", "chain/canary.txt", "file-out", "slash/etc/passwd", "home/mandate.db"],
    ...[
      "home-link/mandate.db",
      "dangling",
      "dangling/new.txt",
      "loop",
      "self/environ",
      "src/../..",
    ],
    ...[
      `${root}-evil/canary.txt`,
      `${base}/outside/canary.txt`,
      `${home}/mandate.db`,
      "\0",
      "\ud800",
    ],
    ...[
      "in/../../canary.txt",
      "out/../canary.txt",
      "../skills/other/SKILL.md",
      "../other/SKILL.md",
    ],
    ...[`${"a/".repeat(1500)}x`, "../".repeat(1000), "a".repeat(4096), "a".repeat(5000)],
  ]);
  const next = numbers(7);
  const pick = (parts: readonly string[]) => parts[Math.floor(next() * parts.length)] ?? "";
  while (paths.size < count) {
    const parts = [pick(ways)];
    for (let depth = Math.floor(next() * 5); depth > 0; depth -= 1) {
      const kind = next();
      parts.push(kind < 0.3 ? ".." : kind < 0.6 ? pick(climbs) : pick(ways));
    }
    paths.add(pick(starts) + [...parts, pick(goals)].join("/") + pick(endings));
  }
  return [...paths].slice(0, count);
}

function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
