import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { readWholeFile } from "../files.ts";
import { cases } from "../testing/cases.test-support.ts";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { bindWorkspace, type WorkspaceBinding } from "./bind-workspace.ts";
import { openFile } from "./open-file.ts";
import { replaceFile, requireReplaceable } from "./replace-file.ts";
import { PathDenied } from "./resolve-inside.ts";
import { walkFolder } from "./walk-tree.ts";

let base: string;
let root: string;
let binding: WorkspaceBinding;

beforeEach(() => {
  base = testFolder();
  root = join(base, "app");
  for (const folder of ["app/src", "app/home", "app-evil", "outside/folder"]) {
    mkdirSync(join(base, folder), { recursive: true });
  }
  writeFileSync(join(root, "src/a.txt"), "inside");
  writeFileSync(join(root, "home/mandate.db"), "CANARY");
  for (const secret of ["secret", "app-evil/secret", "outside/secret", "outside/folder/secret"]) {
    writeFileSync(join(base, secret), "CANARY");
  }
  // A name that no path below contains: seeing it in a list means having been outside.
  for (const folder of ["", "app-evil", "outside", "outside/folder", "app/home"]) {
    writeFileSync(join(base, folder, "unseen"), "");
  }
  symlinkSync("../outside", join(root, "out"));
  symlinkSync("../outside/secret", join(root, "file-out"));
  symlinkSync("out", join(root, "chain"));
  symlinkSync("../outside/missing", join(root, "dangling"));
  symlinkSync("loop", join(root, "loop"));
  symlinkSync("src", join(root, "in"));
  symlinkSync("home", join(root, "home-link"));
  linkSync(join(base, "outside/secret"), join(root, "hard"));
  binding = bindWorkspace({
    root,
    isolation: "shared",
    allowWrites: true,
    forbidden: [join(root, "home")],
  });
});

function read(path: string): string {
  const file = openFile(binding, path);
  try {
    return readWholeFile(file.descriptor, 1_000_000)?.toString() ?? "";
  } finally {
    file.close();
  }
}

async function list(path: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const entry of walkFolder(binding, path, { descend: () => true })) {
    paths.push(entry.path);
  }
  return paths;
}

/** Every file and link outside the workspace, and what the runtime keeps inside it. */
function outsideWorld(): string {
  const places = ["app-evil", "outside", "app/home"].flatMap((folder) =>
    readdirSync(join(base, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}=`)
      .map((path) => path + readFileSync(path.slice(0, -1), "utf8")),
  );
  return [...places.sort(), ...readdirSync(base).sort()].join("\n");
}

const leavingPaths = [
  "../secret",
  "src/../../secret",
  "./.././secret",
  "..",
  "../app-evil/secret",
  "../app/../secret",
  "/etc/passwd",
  "/",
  "//etc/passwd",
  "/proc/self/environ",
  "out/secret",
  "out/folder/secret",
  "out/../../secret",
  "chain/secret",
  "file-out",
  "home/mandate.db",
  "home-link/mandate.db",
  "loop/x",
  "src/a.txt\0.png",
  "\0",
  `${"a/".repeat(3000)}x`,
  "\ud800",
];

test.each(leavingPaths)("reading %j is denied", (path) => {
  expect(() => read(path)).toThrow(PathDenied);
});

test.each([...leavingPaths, "dangling", "dangling/new", "hard", "out/new/deep", "home/new"])(
  "writing %j is denied and changes nothing outside",
  async (path) => {
    const before = outsideWorld();
    expect(() => requireReplaceable(binding, path)).toThrow(PathDenied);
    await expect(replaceFile(binding, path, Buffer.from("EVIL"))).rejects.toThrow(PathDenied);
    expect(outsideWorld()).toBe(before);
  },
);

test.each(["out", "chain", "..", "/", "home", "home-link", "out/folder"])(
  "listing %j is denied",
  async (path) => {
    await expect(list(path)).rejects.toThrow(PathDenied);
  },
);

test("an absolute path is allowed below the root, and a twin with the same prefix is not", () => {
  expect(read(join(root, "src/a.txt"))).toBe("inside");
  expect(() => read(`${root}-evil/secret`)).toThrow(PathDenied);
});

test("a link that stays inside is followed for reading", () => {
  expect(read("in/a.txt")).toBe("inside");
});

test("encoded separators, backslashes and trailing dots are plain names inside", async () => {
  for (const path of ["..%2fsecret", "%2e%2e/secret2", "..\\secret", "src/a.txt.", "...", "~/x"]) {
    const { path: written } = await replaceFile(binding, path, Buffer.from("plain"));
    expect(read(written)).toBe("plain");
  }
  expect(readFileSync(join(base, "secret"), "utf8")).toBe("CANARY");
});

test("a recursive list names links, enters none, and hides the runtime's folder", async () => {
  const paths = await list(".");
  expect(paths).toContain("out");
  expect(paths).toContain("src/a.txt");
  expect(paths.filter((path) => /unseen|^home$|^in\//.test(path))).toEqual([]);
});

test("no path of any shape reads or changes a canary", async () => {
  const before = outsideWorld();
  const segments = [
    ...["..", ".", "", "src", "a.txt", "out", "chain", "in", "home", "home-link", "loop"],
    ...["dangling", "hard", "secret", "folder", "..%2f", "...", "\0", "app-evil", "proc", "self"],
    ...["root", "cwd", "\u2025", "..\u200b", "~", "new"],
  ];
  const path = fc
    .tuple(
      fc.constantFrom("", "/", "./", "../", `${root}/`, `${root}-evil/`, `${base}/`, "//"),
      fc.array(fc.oneof(fc.constantFrom(...segments), fc.string({ unit: "binary" })), {
        maxLength: 6,
      }),
    )
    .map(([prefix, parts]) => prefix + parts.join("/"));
  await fc.assert(
    fc.asyncProperty(path, async (hostile) => {
      const text = attempt(() => read(hostile));
      // The hard link is the one name under which that content is inside; reading it is allowed.
      const isHardLink = attempt(() => openAndName(hostile)) === "hard";
      if (!isHardLink) expect(text ?? "").not.toContain("CANARY");
      await replaceFile(binding, hostile, Buffer.from("EVIL")).catch(() => undefined);
      const paths = await list(hostile).catch(() => []);
      expect(paths.join("\n")).not.toMatch(/unseen$/m);
    }),
    { numRuns: cases(500) },
  );
  expect(outsideWorld()).toBe(before);
});

function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

function openAndName(path: string): string {
  const file = openFile(binding, path);
  file.close();
  return file.path;
}
