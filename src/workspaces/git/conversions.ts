import { join } from "node:path";
import { readSmallFile } from "./borrowed-objects.ts";
import type { DiscoveredRepository } from "./discover-repository.ts";
import type { TrackedEntry } from "./place.ts";
import { shownRaw } from "./raw-path.ts";
import { runGit } from "./run-git.ts";

export interface Conversions {
  /** Whether the person's git stores other bytes than the files have: line ends, filters, LFS. */
  readonly inUse: boolean;
  readonly lfs: boolean;
}

const maximumAttributeFiles = 1000;
const converting = /\s(?:text|eol=|ident|filter=|working-tree-encoding=|crlf)/;

/**
 * Looks for what makes the person's git convert between files and blobs. Working copies never
 * convert: they hold the bytes that the person's files hold. But a commit on their branch would
 * have to, so it is not made where this finds anything.
 */
export async function findConversions(
  repository: DiscoveredRepository,
  tracked: readonly TrackedEntry[],
): Promise<Conversions> {
  const attributes = tracked
    .map(({ path }) => shownRaw(path))
    .filter((path) => path === ".gitattributes" || path.endsWith("/.gitattributes"))
    .slice(0, maximumAttributeFiles + 1)
    .map((path) => readSmallFile(join(repository.toplevel, path), 1024 * 1024));
  const text = [...attributes, readSmallFile(repository.attributes)].join("\n");
  const settings = await readSettings(repository.toplevel);
  const byAttribute = attributes.length > maximumAttributeFiles || converting.test(text);
  return {
    inUse: byAttribute || settings.some(isConverting),
    lfs: /\sfilter=lfs\b/.test(text),
  };
}

function isConverting([name, value]: readonly [string, string]): boolean {
  const isOff = ["false", "no", "off", "0"].includes(value.toLowerCase());
  if (name === "core.autocrlf") return !isOff;
  if (name === "core.filemode" || name === "core.symlinks") return isOff;
  return name === "core.eol" || name === "core.attributesfile";
}

async function readSettings(folder: string): Promise<readonly (readonly [string, string])[]> {
  const pattern = "^core\\.(autocrlf|eol|filemode|symlinks|attributesfile)$";
  const { stdout } = await runGit(["config", "-z", "--get-regexp", pattern], {
    cwd: folder,
    withPersonalConfiguration: true,
    timeoutMs: 20_000,
    answers: [1],
  });
  return stdout
    .toString("utf8")
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => {
      const end = line.indexOf("\n");
      return end < 0 ? [line, "true"] : [line.slice(0, end), line.slice(end + 1)];
    });
}
