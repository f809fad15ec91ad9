// Keeps the layers of src/ true. Part of `npm run check`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, resolve, sep } from "node:path";

/**
 * The layers, in the order in which data passes them. A layer imports itself, ports and the layers
 * above it; further down is out of bounds. A folder inside another one that has a place of its own
 * is named by its path.
 */
const stages = [
  ...["contracts", "events", "workspaces/processes", "workspaces", "agents/documents", "agents"],
  ...["control", "models", "tools", "sessions", "delegations", "delegations/replay"],
  "application",
];

/** Where parts are put together: all of them, the database alone, or what a machine has of them. */
const wiring = [
  ...["runtime.ts", "open-store.ts", "open-control.ts", "open-queues.ts"],
  ...["start-worker.ts", "diagnose.ts"],
];

/** What every layer may import but `ports`, which these import themselves. */
const shared = ["text.ts", "files.ts"];

/**
 * What is beside the order: the layers that it may import, and those of which it may import types
 * only (they vanish when the code runs).
 */
const besideTheStages = {
  "text.ts": { imports: ["ports"], typesOf: [] },
  "files.ts": { imports: ["ports"], typesOf: [] },
  ports: { imports: [], typesOf: ["contracts", "events"] },
  stores: { imports: ["ports", "events", "contracts", "workspaces/processes"], typesOf: [] },
  "stores/dbos": { imports: ["ports", "events"], typesOf: ["contracts", "control"] },
  "application/telemetry": { imports: ["ports", "events"], typesOf: [] },
  testing: {
    imports: ["ports", "stores", "stores/dbos", ...stages, "runtime.ts", "open-store.ts"],
    typesOf: [],
  },
  surfaces: {
    imports: [
      ...["ports", "events", "workspaces/processes", "agents/documents", "control", "sessions"],
      ...["application", "product-version.ts", ...wiring],
    ],
    typesOf: ["contracts", "agents", "tools", "delegations", "delegations/replay"],
  },
  "mandate.ts": { imports: ["surfaces"], typesOf: [] },
  "open-store.ts": {
    imports: ["ports", "stores", "contracts", "workspaces/processes", "control"],
    typesOf: [],
  },
  "diagnose.ts": {
    imports: [
      ...["ports", "stores", "stores/dbos", "workspaces/processes", "workspaces", "control"],
      ...["models", "open-store.ts", "open-queues.ts"],
    ],
    typesOf: [],
  },
  "open-queues.ts": { imports: ["ports", "stores", "stores/dbos"], typesOf: ["control"] },
  "open-control.ts": { imports: ["ports", "control", "agents"], typesOf: [] },
  "configured-limits.ts": { imports: ["contracts", "control", "tools"], typesOf: ["delegations"] },
  "product-version.ts": { imports: [], typesOf: [] },
  "attendance.ts": { imports: [], typesOf: [] },
  "watchdog.ts": { imports: [], typesOf: ["ports", "open-store.ts", "watchdog-thread.ts"] },
  "watchdog-thread.ts": {
    imports: ["open-store.ts", "delegations", "workspaces"],
    typesOf: ["ports"],
  },
  "start-worker.ts": {
    imports: ["ports", "stores/dbos", "control", "product-version.ts", "runtime.ts"],
    typesOf: [],
  },
  "runtime.ts": {
    imports: [
      ...["ports", "stores", "stores/dbos", "application/telemetry", "open-store.ts"],
      ...[
        "open-control.ts",
        "configured-limits.ts",
        "open-queues.ts",
        "product-version.ts",
        "watchdog.ts",
        "attendance.ts",
      ],
      ...stages,
    ],
    typesOf: [],
  },
  // The library is the surface that programs import by name.
  "index.ts": {
    imports: ["ports", "stores", "stores/dbos", ...stages, ...wiring, "surfaces"],
    typesOf: [],
  },
};

/** Tests may wire real parts together; surfaces are out of bounds for them as well. */
const testsMayAlsoImport = [
  ...["stores", "stores/dbos", "testing", "models", "tools"],
  ...["runtime.ts", "start-worker.ts"],
];

const rules = { ...besideTheStages };
for (const [index, stage] of stages.entries()) {
  rules[stage] = { imports: ["ports", ...stages.slice(0, index)], typesOf: [] };
}

const root = resolve(process.argv[2] ?? dirname(import.meta.dirname));
const source = join(root, "src");
const statement =
  /^\s*(?<keyword>import|export)\s+(?<types>type\s)?(?<names>[^"';]*?\sfrom\s+)?["'](?<path>\.[^"']*)["']/gm;
const dynamic = /\bimport\(\s*["'](?<path>\.[^"']*)["']\s*\)/g;

const nested = Object.keys(rules).filter((layer) => layer.includes("/"));

/** A nested layer, or the first segment below src/: a folder, a file by itself, or its test. */
function layerOf(file) {
  const path = relative(source, file).split(sep).join("/");
  const inside = nested.find((layer) => path.startsWith(`${layer}/`));
  return inside ?? path.split("/")[0].replace(/(\.deep|\.deadline)?\.test(-support)?\.ts$/, ".ts");
}

const isTest = (path) => /\.(test|test-support)\.ts$/.test(path);

function importsOf(text) {
  const found = [];
  for (const { groups } of text.matchAll(statement)) {
    found.push({
      path: groups.path,
      typesOnly: groups.types !== undefined || onlyTypes(groups.names),
    });
  }
  for (const { groups } of text.matchAll(dynamic))
    found.push({ path: groups.path, typesOnly: false, isDynamic: true });
  return found;
}

/** `import { type A, type B } from` is as good as `import type { A, B } from`. */
function onlyTypes(names) {
  const inBraces = /^\s*\{(?<list>[^}]*)\}\s*from\s+$/.exec(names ?? "")?.groups?.list;
  const each = (inBraces ?? "").split(",").filter((name) => name.trim() !== "");
  return each.length > 0 && each.every((name) => name.trim().startsWith("type "));
}

function violation(file, from, { path, typesOnly }) {
  const to = layerOf(resolve(dirname(file), path));
  const where = posix.join("src", relative(source, file).split(sep).join("/"));
  if (!isTest(file) && isTest(path))
    return `${where} imports ${path}: only tests use test support.`;
  if (to === from) return undefined;
  const rule = rules[from];
  if (rule === undefined) {
    return `${where} is in "${from}", which the table in scripts/check-imports.mjs does not know. Give it a place there.`;
  }
  if (to === "..") return `${where} imports ${path}, which is outside src/.`;
  if (rule.imports.includes(to) || (shared.includes(to) && from !== "ports")) return undefined;
  if (isTest(file) && testsMayAlsoImport.includes(to)) return undefined;
  if (rule.typesOf.includes(to)) {
    return typesOnly
      ? undefined
      : `${where} imports ${path}: ${from} may use only types of ${to}. Write "import type".`;
  }
  if (isTest(file) && testsMayAlsoImport.includes(to)) return undefined;
  if (to === "surfaces") return `${where} imports ${path}: nothing imports a surface.`;
  const may = [...rule.imports, ...rule.typesOf.map((layer) => `types of ${layer}`)];
  return `${where} imports ${path}: ${from} comes before ${to}. It may import ${may.join(", ") || "nothing"}.`;
}

const violations = [];
for (const name of globSync("**/*.ts", { cwd: source })) {
  const file = join(source, name);
  for (const one of importsOf(readFileSync(file, "utf8"))) {
    const sentence = violation(file, layerOf(file), one);
    if (sentence !== undefined) violations.push(sentence);
  }
}
violations.push(...cycles());
for (const sentence of violations) console.log(sentence);
if (violations.length > 0) process.exitCode = 1;

/** Files that import each other's values in a circle: none can be understood, or loaded, alone. */
function cycles() {
  const values = new Map();
  for (const name of globSync("**/*.ts", { cwd: source })) {
    if (/\.test(-support)?\.ts$/.test(name)) continue;
    const file = join(source, name);
    const paths = importsOf(readFileSync(file, "utf8"))
      .filter(({ isDynamic, typesOnly }) => !typesOnly && !isDynamic)
      .map(({ path }) => resolve(dirname(file), path));
    values.set(file, paths);
  }
  const found = [];
  const done = new Set();
  const visit = (file, way) => {
    const start = way.indexOf(file);
    if (start >= 0) found.push([...way.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    for (const next of values.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of values.keys()) visit(file, []);
  const shown = (file) => relative(source, file).replaceAll(sep, "/");
  return found.map(
    (circle) => `These import each other's values: ${circle.map(shown).join(" > ")}`,
  );
}
