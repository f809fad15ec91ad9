import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { expect, test } from "vitest";
import { parsePlaybook } from "../src/models/scripted/load-playbook.ts";
import { openEngine } from "../src/testing/engine-fixture.ts";

const root = dirname(import.meta.dirname);
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const words = (list: string | undefined): readonly string[] => (list ?? "").split(" ").sort();

test("the README is short: code within fifty lines, the two commands, at most fifteen links", () => {
  const readme = textOf("README.md");
  const [, example = ""] = /^([\s\S]*?```ts\n[\s\S]*?\n```)/.exec(readme) ?? [];
  expect(example.split("\n").length).toBeLessThanOrEqual(50);
  for (const command of ["npm start", "npm test"]) expect(example).toContain(command);
  expect([...readme.matchAll(/\]\(/g)].length).toBeLessThanOrEqual(15);
});

test("the guide names every profile that is shipped", () => {
  const [, list] = /shipped with Mandate: `([^`]+)`/.exec(textOf("docs/guides/profiles.md")) ?? [];
  const files = readdirSync(join(root, "src/agents/shipped"));
  expect(words(list)).toEqual(files.map((file) => file.replace(/\.md$/, "")).sort());
});

test("the first playbook of the guide does what it says", async () => {
  const [, yaml = ""] =
    /```yaml\n(version: 1\n[^`]+)```/.exec(textOf("docs/guides/playbooks.md")) ?? [];
  await using mandate = await openEngine({ model: parsePlaybook(yaml, "playbooks.md") });
  const { result } = await mandate.run({ task: "Count the files and the lines" });
  expect(result.status).toBe("completed");
  expect(result.result).toMatch(/^Both are done:\n/);
  expect(result.result).toContain("I looked into it: Count the files");
  expect(result.result).toContain("I looked into it: Count the lines");
});

/** As GitHub names the places of headings. */
function placeOf(heading: string): string {
  const text = heading.toLowerCase().replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return text
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

/** A document without the code in it. */
function proseOf(path: string): string {
  return textOf(path).replaceAll(/^```[\s\S]*?^```/gm, "");
}

test("every link of a document leads to a file, and to a heading in it", () => {
  const documents = globSync("{*.md,llms.txt,{docs,bench,deploy,examples}/**/*.md}", { cwd: root });
  const dead: string[] = [];
  for (const document of documents) {
    for (const [, link = ""] of proseOf(document).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)) {
      const [path = "", heading] = link.split("#");
      const to = path === "" ? document : posix.join(posix.dirname(document), path);
      const headings = (): readonly string[] =>
        [...proseOf(to).matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) => placeOf(text));
      const isThere =
        existsSync(join(root, to)) && (heading === undefined || headings().includes(heading));
      if (!isThere) dead.push(`${document}: ${link}`);
    }
  }
  expect(dead).toEqual([]);
});
