import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { checkContents } from "./check-contents.ts";
import { checkLicences } from "./check-licences.ts";
import { nodeVersions } from "./check-node-versions.ts";
import { judgeAudit } from "./check-vulnerabilities.ts";
import { productionTree } from "./production-tree.ts";
import { aboutPackage } from "./write-sbom.ts";

const root = dirname(dirname(import.meta.dirname));

const whole = [
  ...["package.json", "README.md", "llms.txt", "LICENSE", "CHANGELOG.md"],
  ...["dist/index.js", "dist/index.d.ts", "dist/testing/index.js", "dist/mandate.js"],
  ...["dist/surfaces/client/mandate-client.js", "dist/agents/shipped/general.md"],
  ...["dist/dashboard/index.html", "dist/dashboard/assets/a.js", "dist/dashboard/assets/a.css"],
  ...["dist/schemas/mandate.schema.json", "dist/surfaces/cli/demonstration/harbour.yaml"],
  ...["docs/guides/a.md", "docs/reference/b.md", "docs/faults.md", "examples/01-minimal.ts"],
];

function problemsOf(paths: readonly string[], texts: Readonly<Record<string, string>> = {}) {
  const files = paths.map((path) => ({ path, size: 1 }));
  const packed = { tarball: "", size: 1, unpackedSize: 1, files };
  return checkContents(packed, (path) => texts[path] ?? "", "/builder/mandate").problems;
}

test("a package that has everything and nothing else passes", () => {
  expect(problemsOf(whole)).toEqual([]);
});

test("what is missing from a package is named", () => {
  const page = problemsOf(whole.filter((path) => path !== "dist/dashboard/index.html"));
  expect(page).toEqual(["Nothing in the package matches ^dist\\/dashboard\\/index\\.html$."]);
});

test.each([
  ["dist/events/lifecycle.test.js", "belongs to the tests"],
  ["dist/tools/make-documents.test-support.d.ts", "belongs to the tests"],
  ["dist/agents/fixtures/agent.md", "belongs to development"],
  ["src/index.ts", "is a source"],
  ["examples/examples.test.ts", "belongs to the tests"],
  ["dist/.built-from", "is a hidden file"],
  ["dist/mandate.db", "is somebody's data"],
])("%s does not belong in a package", (path, why) => {
  expect(problemsOf([...whole, path])).toEqual([`${path} ${why}.`]);
});

test("texts that point to nowhere, or to where they were made, are named", () => {
  const texts = {
    "dist/index.js": "export {};\n//# sourceMappingURL=index.js.map\n",
    "dist/mandate.js": 'const here = "/builder/mandate/src";',
  };
  expect(problemsOf(whole, texts)).toEqual([
    "dist/index.js points to index.js.map, which is not in the package.",
    "dist/mandate.js names the folder that it was built in.",
  ]);
  expect(problemsOf([...whole, "dist/index.js.map"], texts)).toHaveLength(1);
});

test("what documents point to is in the package", () => {
  const text =
    '<img src="docs/a.png">[a](docs/guides/a.md#b) [c](docs/guides/) [d](https://d.example) [e](e.md)';
  expect(problemsOf(whole, { "README.md": text })).toEqual([
    "README.md points to docs/a.png, which is not in the package.",
    "README.md points to e.md, which is not in the package.",
  ]);
  const listed = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).files as string[];
  const files = globSync(
    listed.filter((each) => !each.startsWith("!")).flatMap((each) => [each, `${each}/**/*`]),
    { cwd: root },
  );
  const left = globSync(
    listed.filter((each) => each.startsWith("!")).map((each) => each.slice(1)),
    {
      cwd: root,
    },
  );
  const packed = files.filter((path) => isPacked(path) && !left.includes(path));
  const documents = packed.filter((path) => path.endsWith(".md") && !path.startsWith("dist/"));
  const texts = documents.map((path) => [path, readFileSync(join(root, path), "utf8")]);
  expect(problemsOf([...whole, ...packed], Object.fromEntries(texts))).toEqual([]);
});

function isPacked(path: string): boolean {
  return !path.startsWith("dist") && !path.endsWith(".test.ts");
}

test("everything that comes with the package is under a licence of the list", () => {
  const packages = productionTree(root);
  expect(packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["zod", "yaml", "hono", "@ai-sdk/provider-utils"]),
  );
  expect(packages.map(({ name }) => name)).not.toContain("vitest");
  expect(checkLicences(packages).problems).toEqual([]);
});

test("a licence that is not on the list fails with its name, and so does none", () => {
  const one = (license: string | undefined) =>
    checkLicences([{ path: "", name: "lamp", version: "1.0.0", license }]).problems;
  expect(one("GPL-3.0-only")).toEqual([
    "lamp 1.0.0 is under GPL-3.0-only, which is not on the list.",
  ]);
  expect(one(undefined)).toEqual(["lamp 1.0.0 names no licence."]);
  expect(one("(AFL-2.1 OR BSD-3-Clause)")).toEqual([]);
  expect(one("MIT AND GPL-3.0-only")).toHaveLength(1);
  expect(one("(MIT AND GPL-3.0-only) OR (GPL-2.0-only)")).toHaveLength(1);
  expect(one("SEE LICENSE IN LICENSE.txt")).toHaveLength(1);
});

test("what an audit finds fails, and a registry without one is named", () => {
  const found = { vulnerabilities: { lamp: { severity: "high", range: "<1.2.0" } } };
  expect(judgeAudit(JSON.stringify(found), "").problems).toEqual(["lamp <1.2.0: high."]);
  expect(judgeAudit('{"vulnerabilities":{}}', "").problems).toEqual([]);
  const none = judgeAudit("", "npm warn audit 405 Method Not Allowed - POST …");
  expect(none.problems).toEqual([]);
  expect(none.notes[0]).toMatch(/^not checked: the registry offers no audit \(405 Method/);
});

test("a bill is about the package, and not about the project that installed it", () => {
  const bill = {
    bomFormat: "CycloneDX",
    metadata: { component: { name: "project" } },
    components: [
      {
        "bom-ref": "mandate@1",
        name: "mandate",
        externalReferences: [{ url: "file:/home/somebody/mandate.tgz" }],
      },
      { "bom-ref": "zod@4", name: "zod" },
    ],
    dependencies: [{ ref: "project@" }, { ref: "mandate@1" }, { ref: "zod@4" }],
  };
  expect(aboutPackage(bill, "mandate")).toMatchObject({
    metadata: { component: { name: "mandate", externalReferences: [] } },
    components: [{ name: "zod" }],
    dependencies: [{ ref: "mandate@1" }, { ref: "zod@4" }],
  });
  expect(aboutPackage(bill, "other")).toBeUndefined();
});

test("the oldest Node of the matrix is the oldest that package.json allows", () => {
  const { engines, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(`>=${nodeVersions[0]}`.replace(/\.0$/, "")).toBe(engines.node);
  expect(nodeVersions).toContain(devDependencies.node);
});

test("workflows name no registry, take what they need and no more, and run scripts that exist", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const workflows = globSync(".github/workflows/*.yml", { cwd: root });
  expect(workflows.length).toBeGreaterThan(1);
  for (const workflow of workflows) {
    const text = readFileSync(join(root, workflow), "utf8");
    expect(text, workflow).not.toMatch(/registry\.|https?:/);
    expect(text, workflow).toMatch(/^permissions:\n {2}contents: read$/m);
    for (const [, action] of text.matchAll(/uses: (\S+)/g)) {
      expect(action, workflow).toMatch(/^actions\/[\w-]+@v\d+$/);
    }
    for (const [, script = ""] of text.matchAll(/npm run ([\w:]+)/g)) {
      expect(Object.keys(scripts), workflow).toContain(script);
    }
    for (const [, file = ""] of text.matchAll(/(?:node|bash) (scripts\/\S+|\.ci\/\S+)/g)) {
      expect(existsSync(join(root, file)), `${workflow}: ${file}`).toBe(true);
    }
  }
});
