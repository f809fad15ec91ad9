import fc from "fast-check";
import { expect, test } from "vitest";
import { matchPathGlob } from "../../contracts/judge-by-rules.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { regexToGlobs } from "./roo-groups.ts";

const paths = [
  ...["a.md", "docs/a.md", "docs/x/a.md", "docs/a.mdx", "a.ts", "a.test.ts", "src/a.ts", ".env"],
  ...["README.md", "CHANGELOG.md", "docs", "xdocs/a.md", ".roo/rules/a.md", "docs/READMEmd", "md"],
];

test.each([
  ["\\.md$", ["**/*.md"]],
  [".*\\.md$", ["**/*.md"]],
  ["\\.(md|mdx)$", ["**/*.md", "**/*.mdx"]],
  ["(.*\\.(md|ts)$|.*\\.json$)", ["**/*.md", "**/*.ts", "**/*.json"]],
  ["^docs/", ["docs/**"]],
  ["^docs/.*\\.md$", ["docs/**/*.md"]],
  ["^(README|CHANGELOG)\\.md$", ["README.md", "CHANGELOG.md"]],
  ["\\.test\\.ts$", ["**/*.test.ts"]],
  ["^src/[^/]+\\.ts$", ["src/*?.ts"]],
  [".+\\.md$", ["**/*?.md"]],
])("%s becomes globs", (regex, globs) => {
  expect(regexToGlobs(regex)).toEqual(globs);
});

test.each(["^(?!src).*", "[a-z]+\\.md", "a{2}", "(a|b)+", "\\d+", "(", "a)", "^(a|b", "x*"])(
  "%s cannot be kept",
  (regex) => {
    expect(regexToGlobs(regex)).toBeUndefined();
  },
);

test("no glob ever allows a path that the expression does not", () => {
  const piece = fc.constantFrom(
    ...[
      "^",
      "$",
      ".*",
      ".",
      "\\.",
      "/",
      "md",
      "docs",
      "a",
      "(",
      ")",
      "|",
      "(?:",
      "[^/]*",
      "ts",
      ".+",
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      const source = pieces.join("");
      const globs = regexToGlobs(source);
      if (globs === undefined) return;
      const regex = new RegExp(source);
      for (const path of paths) {
        const isAllowed = globs.some((glob) => matchPathGlob(glob, path));
        if (isAllowed)
          expect({ path, globs, fits: regex.test(path) }).toMatchObject({ fits: true });
      }
    }),
    { numRuns: cases(5000) },
  );
});
