import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Says that a folder is ours to start over with. */
const marker = ".mandate-demo";

const files: Readonly<Record<string, string>> = {
  [marker]: "Made by `mandate demo`, which replaces this folder when it starts over.\n",

  "README.md": `# harbour

Which ships can berth, and when.

    import { canBerth } from "./src/berths.js";
    canBerth({ draught: 4.2 }, { depth: 5.0 }); // true
`,

  "CHANGELOG.md": `# Changelog

## Unreleased

- Tide tables can be given in half hours.
- \`canBerth\` keeps half a metre of water under the keel.
- Fixed: an empty tide table was read as low water.

## 1.0.0

- First release.
`,

  "docs/guide.md": `# Guide

\`canBerth(ship, tide, wind)\` says whether a ship may enter. It keeps one metre of water under the
keel.
`,

  "src/berths.js": `const clearance = 0.5;

export function canBerth(ship, tide) {
  return tide.depth - ship.draught >= clearance;
}
`,

  "src/tides.js": `/** The highest water of a day, from a table of depths. */
export function highWater(table) {
  let highest = table[0];
  for (let hour = 1; hour <= table.length; hour += 1) {
    if (table[hour] > highest) highest = table[hour];
  }
  return highest;
}
`,
};

/** A small project to work on. What the last demonstration made of it is replaced. */
export function createSampleProject(folder: string): void {
  if (existsSync(join(folder, marker))) rmSync(folder, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}
