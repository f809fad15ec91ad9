import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { ArtifactFolder } from "./artifact-folder.ts";
import { SqliteStore } from "./sqlite-store.ts";

let folder: string;

beforeEach(() => {
  folder = testFolder();
});

/** What all open files have in common: a disk that fails fails there. */
async function handles(): Promise<FileHandle> {
  const file = await open(folder, "r");
  await file.close();
  return Object.getPrototypeOf(file) as FileHandle;
}

const filesIn = (path: string): readonly string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

it.each(["ENOSPC", "EDQUOT"])(
  "says of %s that the disk is full, and leaves nothing on it",
  async (code) => {
    const spy = vi.spyOn(await handles(), "writeFile").mockImplementation(async function (
      this: FileHandle,
    ) {
      await this.write("a part");
      throw Object.assign(new Error(`${code}: no space left on device, write`), { code });
    });
    onTestFinished(() => spy.mockRestore());
    const artifacts = new ArtifactFolder(folder, systemClock);
    await expect(artifacts.keep("body")).rejects.toMatchObject({ code: "storage-full" });
    expect(filesIn(folder)).toEqual([]);
  },
);

it("a body is durable with its name, and that with the folder it is in", async () => {
  const prototype = await handles();
  const { sync } = prototype;
  const synced: string[] = [];
  const spy = vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    const isFolder = (await this.stat()).isDirectory();
    synced.push(isFolder ? `folder with ${filesIn(folder).length}` : "file");
    await sync.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  const { hash } = await new ArtifactFolder(folder, systemClock).keep("body");
  // The file, before it has its name; the folder that names it; and the one that names that folder.
  expect(synced).toEqual(["file", "folder with 1", "folder with 1"]);
  expect(filesIn(folder)).toEqual([hash]);
});

it("what a killed process left of a body is removed a day later, and nothing else", async () => {
  const store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: folder });
  onTestFinished(() => store.close());
  const { hash } = await store.keepArtifact("body");
  const place = join(folder, hash.slice(0, 2), hash);
  const [torn, underWay, strange] = [`${place}.123.abc`, `${place}.123.def`, `${place}.notes`];
  for (const path of [torn, underWay, strange]) writeFileSync(path, "a part");
  const longAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
  for (const path of [torn, strange]) utimesSync(path, longAgo, longAgo);
  await store.prune({ finishedBefore: 0, actor: "ann", most: 10 });
  expect([torn, underWay, strange, place].map((path) => existsSync(path))).toEqual([
    ...[false, true, true, true],
  ]);
});
