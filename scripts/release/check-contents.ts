import { posix } from "node:path";
import type { Outcome } from "./outcome.ts";
import { outcomeOf } from "./outcome.ts";
import type { PackedPackage } from "./pack-package.ts";

/** What must be in the package: without one of these something that people use does not work. */
const needed: readonly RegExp[] = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^CHANGELOG\.md$/,
  /^llms\.txt$/,
  /^dist\/index\.(js|d\.ts)$/,
  /^dist\/testing\/index\.(js|d\.ts)$/,
  /^dist\/surfaces\/client\/mandate-client\.(js|d\.ts)$/,
  /^dist\/mandate\.js$/,
  /^dist\/dashboard\/index\.html$/,
  /^dist\/dashboard\/assets\/.+\.js$/,
  /^dist\/dashboard\/assets\/.+\.css$/,
  /^dist\/agents\/shipped\/general\.md$/,
  /^dist\/schemas\/(mandate|profile)\.schema\.json$/,
  /^dist\/surfaces\/cli\/demonstration\/.+\.yaml$/,
  /^docs\/(guides|reference)\/.+\.md$/,
  /^docs\/faults\.md$/,
  /^examples\/.+\.ts$/,
];

const unwanted: readonly (readonly [RegExp, string])[] = [
  [/\.(test|test-support)\./, "belongs to the tests"],
  [/(^|\/)(fixtures|__snapshots__|node_modules|coverage)\//, "belongs to development"],
  // Examples are there to be read.
  [/^(?!examples\/).*(?<!\.d)\.tsx?$/, "is a source"],
  [/(^|\/)\.[^/]+$/, "is a hidden file"],
  [/\.(db|sqlite|log|tgz|pem|key|env)$/, "is somebody's data"],
];

/** Beyond this somebody packed what they did not mean to. */
const mostBytes = 8_000_000;

/** The texts are asked for one by one: there are thousands of them. */
export function checkContents(
  { files, size, unpackedSize }: PackedPackage,
  readText: (path: string) => string,
  root: string,
): Outcome {
  const paths = new Set(files.map(({ path }) => path));
  const problems: string[] = [];
  for (const pattern of needed) {
    if (![...paths].some((path) => pattern.test(path))) {
      problems.push(`Nothing in the package matches ${pattern.source}.`);
    }
  }
  for (const path of paths) {
    for (const [pattern, why] of unwanted) {
      if (pattern.test(path)) problems.push(`${path} ${why}.`);
    }
    if (/\.(js|css|html|json|md|yaml|d\.ts)$/.test(path)) {
      problems.push(...problemsIn(path, readText(path), paths, root));
    }
  }
  if (unpackedSize > mostBytes) {
    problems.push(
      `The package unpacks to ${megabytes(unpackedSize)}, over ${megabytes(mostBytes)}.`,
    );
  }
  const note = `${files.length} files, ${megabytes(size)} packed, ${megabytes(unpackedSize)} unpacked`;
  return outcomeOf(problems, note);
}

function problemsIn(
  path: string,
  text: string,
  paths: ReadonlySet<string>,
  root: string,
): readonly string[] {
  const problems: string[] = [];
  if (text.includes(root)) problems.push(`${path} names the folder that it was built in.`);
  const map = /\/[/*]# sourceMappingURL=(?!data:)(?<name>\S+)/.exec(text)?.groups?.["name"];
  if (map !== undefined && !paths.has(posix.join(posix.dirname(path), map))) {
    problems.push(`${path} points to ${map}, which is not in the package.`);
  }
  if (path.endsWith(".md")) problems.push(...deadLinks(path, text, paths));
  return problems;
}

/** Documents are also read where the package is installed. */
function deadLinks(document: string, text: string, paths: ReadonlySet<string>): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, "");
  const links = prose.matchAll(/(?:\]\(|src(?:set)?=")(?<path>(?![a-z]+:|#)[^)#"\s]+)/g);
  return [...links].flatMap(({ groups }) => {
    const to = posix.join(posix.dirname(document), groups?.["path"] ?? "");
    const isThere =
      paths.has(to) || [...paths].some((path) => to.endsWith("/") && path.startsWith(to));
    return isThere ? [] : [`${document} points to ${to}, which is not in the package.`];
  });
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
