import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scorePath } from "./find-files.ts";

/** Those that fit, the best first. */
function sorted(wanted: string, ...paths: readonly string[]): readonly string[] {
  return paths
    .flatMap((path) => ({ path, score: scorePath(path, wanted) ?? Number.NaN }))
    .filter(({ score }) => !Number.isNaN(score))
    .sort((one, other) => other.score - one.score)
    .map(({ path }) => path);
}

describe("scorePath", () => {
  it("prefers the name of a file, then its path, then letters that begin words", () => {
    const paths = [
      "src/tides/table.ts",
      "docs/a/tides.md",
      "src/high-tides.ts",
      "tests/in/deep/ends.ts",
      "tides-of-june.md",
    ];
    expect(sorted("tides", ...paths)).toEqual([
      "docs/a/tides.md",
      "tides-of-june.md",
      "src/high-tides.ts",
      "src/tides/table.ts",
      "tests/in/deep/ends.ts",
    ]);
    expect(sorted("STT", "src/tides/table.ts", "lost/it/at.ts", "x.ts")).toEqual([
      "src/tides/table.ts",
      "lost/it/at.ts",
    ]);
  });

  it("begins near the top where nothing was said", () => {
    expect(sorted("", "src/deep/a.ts", "README.md", "src/b.ts")).toEqual([
      "README.md",
      "src/b.ts",
      "src/deep/a.ts",
    ]);
  });

  it("fits exactly where the letters are there in their order", () => {
    const letters = fc.stringMatching(/^[a-c/.]{0,6}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[a-c/.]{1,12}$/), letters, (path, wanted) => {
        let from = 0;
        const isThere = [...wanted].every((letter) => {
          from = path.indexOf(letter, from) + 1;
          return from > 0;
        });
        expect(scorePath(path, wanted) !== undefined).toBe(isThere);
      }),
    );
  });
});
