// Keeps docs/requirements.md honest: ids without gaps, and every file it names exists.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const text = readFileSync(join(root, "docs/requirements.md"), "utf8");
const problems = [];
const last = {};

for (const [, id, design, number, cells] of text.matchAll(/^\| ((\d{3})-(\d+)) \|(.*)\|$/gm)) {
  if (Number(number) !== (last[design] ?? 0) + 1) problems.push(`${id} is out of order.`);
  last[design] = Number(number);
  const [, code, test, state] = cells.split(/(?<!\\)\|/).map((cell) => cell.trim());
  if (state === "done" && (code === "—" || test === "—")) {
    problems.push(`${id} is done without code and test: name both, or say "not yet" and why.`);
  }
  if (!/^(done|partly: .+|not yet( \(.+\))?)$/.test(state)) {
    problems.push(`${id} has the state "${state}"; it is done, partly: …, or not yet (…).`);
  }
  for (const [, path] of `${code} ${test}`.matchAll(/`([^`]+)`/g)) {
    if (!existsSync(join(root, "src", path)) && !existsSync(join(root, path))) {
      problems.push(`${id} names ${path}, which does not exist below src/ or the repository.`);
    }
  }
}
for (const problem of problems) console.log(`docs/requirements.md: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
