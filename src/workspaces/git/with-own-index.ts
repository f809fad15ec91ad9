import { rmSync } from "node:fs";

/**
 * Works with an index that nothing is left of afterwards. Git locks an index by a file beside it,
 * and whoever is killed leaves both behind: they are removed first. So nobody else may be using an
 * index of this name.
 */
export async function withOwnIndex<Result>(
  indexFile: string,
  work: (indexFile: string) => Promise<Result>,
): Promise<Result> {
  const remove = (): void => {
    for (const file of [indexFile, `${indexFile}.lock`]) rmSync(file, { force: true });
  };
  remove();
  try {
    return await work(indexFile);
  } finally {
    remove();
  }
}
