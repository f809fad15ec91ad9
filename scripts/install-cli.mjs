// Puts `mandate` on the PATH for this clone (npm run install-cli), or takes it off (npm run
// uninstall-cli): one small program that starts the clone's own Node with the clone's build.

import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const mark = "# Starts Mandate from a clone. Made by `npm run install-cli`.";
const name = "mandate";

const onPath = (process.env.PATH ?? "").split(delimiter).filter((entry) => entry !== "");
/** npm puts the folders of the project first while a script runs; they are not the person's. */
const folders = onPath.filter(
  (entry) => !/[\\/](?:node_modules[\\/]\.bin|node-gyp-bin)$/.test(entry),
);

function main([option]) {
  if (process.platform === "win32") {
    say("On Windows, type: npm link (and to remove it: npm unlink -g mandate)");
    return 1;
  }
  return option === "--remove" ? remove() : install();
}

function install() {
  const folder = folders.find(isOurs) ?? chooseFolder();
  const file = join(folder, name);
  if (existsSync(file) && !isOurs(folder)) {
    say(`${file} is another program, and stays as it is. Remove it, then run this again.`);
    return 1;
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, launcher());
  chmodSync(file, 0o755);
  say(`${file} starts Mandate from ${root}.`);
  const first = folders.find((each) => existsSync(join(each, name)));
  if (!folders.includes(folder)) {
    say(`${folder} is not on your PATH. Add it, in the file that your shell reads at its start:`);
    say(`  export PATH="${folder}:$PATH"`);
  } else if (first !== folder) {
    say(`Another mandate comes first on your PATH: ${join(first, name)}`);
  }
  say(`Try it: ${name} doctor`);
  return 0;
}

function launcher() {
  const [node, script] = [join(root, "node_modules/.bin/node"), join(root, "dist/mandate.js")];
  return `#!/bin/sh\n${mark}\nexec ${quoted(node)} ${quoted(script)} "$@"\n`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A folder on the PATH that the person may write to: below their home first, then npm's own. */
function chooseFolder() {
  const usual = [join(homedir(), ".local", "bin"), join(homedir(), "bin")];
  const own = usual.find((folder) => folders.includes(folder) && isWritable(folder));
  if (own !== undefined) return own;
  const global = join(process.env.npm_config_global_prefix ?? "", "bin");
  return folders.includes(global) && isWritable(global) ? global : usual[0];
}

/** Also where the folder does not exist yet. */
function isWritable(folder) {
  if (!existsSync(folder)) return folder !== dirname(folder) && isWritable(dirname(folder));
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isOurs(folder) {
  try {
    return readFileSync(join(folder, name), "utf8").split("\n")[1] === mark;
  } catch {
    return false;
  }
}

function remove() {
  const places = [...folders, join(homedir(), ".local", "bin")];
  const files = [...new Set(places)].filter(isOurs).map((folder) => join(folder, name));
  for (const file of files) {
    rmSync(file);
    say(`Removed ${file}.`);
  }
  if (files.length === 0) say(`There is no ${name} on your PATH that ${basename(root)} put there.`);
  return 0;
}

function say(sentence) {
  process.stdout.write(`${sentence}\n`);
}

process.exitCode = main(process.argv.slice(2));
