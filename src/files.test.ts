import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { makeFolder, realFolder, realFolderSync, writeDurably, writeDurablySync } from "./files.ts";
import { runOnFullDisk } from "./testing/run-on-full-disk.test-support.ts";

const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mandate-files-"));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const writers = { writeDurably, writeDurablySync };

describe.each(Object.entries(writers))("%s", (name, write) => {
  test("replaces a file in a folder that it makes, for this user alone", async () => {
    const folder = newFolder();
    const path = join(folder, "some", "folder", "file");
    await write(path, "one");
    await write(path, "two");
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(readdirSync(join(folder, "some", "folder"))).toEqual(["file"]);
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("leaves a whole file when several write it at the same time", async () => {
    const path = join(newFolder(), "file");
    const bodies = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
    await Promise.all(bodies.map((body) => write(path, body)));
    expect(bodies).toContain(readFileSync(path, "utf8"));
    expect(readdirSync(join(path, ".."))).toEqual(["file"]);
  });

  test.skipIf(process.platform === "win32")(
    "throws when the disk takes only a part, and leaves the old file and nothing else",
    async () => {
      const folder = newFolder();
      const path = join(folder, "file");
      await write(path, "old");
      const script = `
import { ${name} } from ${JSON.stringify(join(import.meta.dirname, "files.ts"))};
try {
  await ${name}(process.argv[1], "new".repeat(50_000));
  console.log("written");
} catch (error) {
  console.log(error.code);
}`;
      expect(runOnFullDisk(script, path)).toBe("EFBIG");
      expect(readFileSync(path, "utf8")).toBe("old");
      expect(readdirSync(folder)).toEqual(["file"]);
    },
  );
});

test("a folder is made once, and a real folder is no file and no place that does not exist", async () => {
  const folder = newFolder();
  const [inner, file] = [join(folder, "inner"), join(folder, "file")];
  expect([makeFolder(inner), makeFolder(inner)]).toEqual([true, false]);
  writeFileSync(file, "");
  expect(makeFolder(file)).toBe(false);
  mkdirSync(join(inner, "x"));
  for (const find of [realFolder, realFolderSync]) {
    expect(await find(join(inner, "x", ".."))).toBe(realFolderSync(inner));
    expect(await find(file)).toBeUndefined();
    expect(await find(join(folder, "none"))).toBeUndefined();
  }
});
