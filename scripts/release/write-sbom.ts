import { writeFileSync } from "node:fs";
import type { Outcome } from "./outcome.ts";
import { outcomeOf, tail } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly externalReferences?: readonly { readonly url: string }[];
}

interface Bill {
  readonly bomFormat: string;
  readonly metadata: object;
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string }[];
}

/**
 * A bill of what comes with the package, in CycloneDX. It is made where the package is installed:
 * in the repository, npm leaves out whatever development uses as well.
 */
export async function writeSbom(
  project: string,
  installed: readonly string[],
  file: string,
): Promise<Outcome> {
  const words = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "library", "--omit", "dev"];
  const { code, stdout, stderr } = await runProgram("npm", words, { cwd: project });
  if (code !== 0) return outcomeOf([`npm sbom failed:\n    ${tail(stderr)}`]);
  const bill = aboutPackage(JSON.parse(stdout) as Bill, "mandate");
  if (bill === undefined) return outcomeOf(["npm sbom does not name the package."]);
  const others = new Set(installed).size - 1;
  if (bill.components.length !== others) {
    return outcomeOf([
      `The bill names ${bill.components.length} packages, and ${others} come with ours.`,
    ]);
  }
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  return outcomeOf([], `${bill.components.length} packages in ${file}`);
}

/** The project exists only to install the package: the bill is about the package itself. */
export function aboutPackage(bill: Bill, name: string): Bill | undefined {
  const component = bill.components.find((one) => one.name === name);
  if (bill.bomFormat !== "CycloneDX" || component === undefined) return undefined;
  const refs = new Set(bill.components.map((one) => one["bom-ref"]));
  return {
    ...bill,
    metadata: { ...bill.metadata, component: withoutFiles(component) },
    components: bill.components.filter((one) => one !== component),
    dependencies: bill.dependencies.filter(({ ref }) => refs.has(ref)),
  };
}

/** Where the tarball lay when it was tried is nobody's business. */
function withoutFiles({ externalReferences = [], ...rest }: Component): Component {
  return {
    ...rest,
    externalReferences: externalReferences.filter(({ url }) => !url.startsWith("file:")),
  };
}
