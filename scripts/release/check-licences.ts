import type { Outcome } from "./outcome.ts";
import { outcomeOf } from "./outcome.ts";
import type { InstalledPackage } from "./production-tree.ts";

/** Licences that ask for nothing but their notice. */
const allowed: ReadonlySet<string> = new Set([
  ...["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD"],
  ...["BlueOak-1.0.0", "CC0-1.0", "Unlicense", "Python-2.0", "PSF-2.0"],
]);

/** What comes with the package must be under a licence of the list; nothing said is refused too. */
export function checkLicences(packages: readonly InstalledPackage[]): Outcome {
  const problems = packages
    .filter(({ license }) => license === undefined || !isAllowed(license))
    .map(({ name, version, license }) =>
      license === undefined
        ? `${name} ${version} names no licence.`
        : `${name} ${version} is under ${license}, which is not on the list.`,
    );
  const found = [...new Set(packages.map(({ license }) => license ?? "none"))].sort();
  return outcomeOf(problems, `${packages.length} packages under ${found.join(", ")}`);
}

/** In `A OR B` one is enough, in `A AND B` both are needed; anything harder is for a person. */
function isAllowed(expression: string): boolean {
  const text = expression.trim().replace(/^\((?<inner>[^()]*)\)$/, "$<inner>");
  if (/[()]|\sWITH\s/.test(text)) return false;
  return text
    .split(/\sOR\s/)
    .some((choice) => choice.split(/\sAND\s/).every((name) => allowed.has(name.trim())));
}
