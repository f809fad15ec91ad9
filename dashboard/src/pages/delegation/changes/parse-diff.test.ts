import { describe, expect, it } from "vitest";
import { changedFiles } from "./match-sections.ts";
import { parseDiff } from "./parse-diff.ts";

const patch = `diff --git a/one.ts b/one.ts
index 1..2 100644
--- a/one.ts
+++ b/one.ts
@@ -3,3 +3,4 @@ function one() {
 same
-diff --git a/fake b/fake
+@@ -1 +1 @@
++++ b/fake
 last
\\ No newline at end of file
diff --git a/two.png b/two.png
new file mode 100644
Binary files /dev/null and b/two.png differ
`;

describe("parseDiff", () => {
  it("knows the kind and the number of each line", () => {
    const [one, two] = parseDiff(patch);
    expect(one?.lines.map(({ after, before, kind }) => [kind, before, after])).toEqual([
      ["hunk", null, null],
      ["same", 3, 3],
      ["removed", 4, null],
      ["added", null, 4],
      ["added", null, 5],
      ["same", 5, 6],
      ["note", null, null],
    ]);
    expect(two?.lines.map(({ kind }) => kind)).toEqual(["note", "note"]);
  });

  it("takes no content of a file for the head of another one", () => {
    expect(parseDiff(patch).map(({ head }) => head)).toEqual([
      "a/one.ts b/one.ts",
      "a/two.png b/two.png",
    ]);
  });

  it("gives each file its own lines, also one that became a link, and none beyond the cut", () => {
    const counts = { added: 1, removed: 1 };
    const link = `diff --git a/l b/l
deleted file mode 100644
@@ -1 +0,0 @@
-text
diff --git a/l b/l
new file mode 120000
@@ -0,0 +1 @@
+target
diff --git a/m b/m
@@ -1 +1 @@
-x
+y
`;
    const files = changedFiles({
      text: link,
      files: ["l", "m", "n"].map((path) => ({ path, change: "changed" as const, lines: counts })),
    });
    expect(
      files.map(({ lines, path }) => [
        path,
        lines.filter(({ kind }) => kind === "added").map(({ text }) => text),
      ]),
    ).toEqual([
      ["l", ["target"]],
      ["m", ["y"]],
      ["n", []],
    ]);
  });
});
