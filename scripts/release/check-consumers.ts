import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { consumerMistakes, consumerProgram } from "./consumer-program.ts";
import type { Outcome } from "./outcome.ts";
import { outcomeOf, tail } from "./outcome.ts";
import { type Ended, runProgram } from "./run-program.ts";

/** The ways in which consumers have their compilers look for packages. */
const resolutions = {
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};

/** The package in somebody else's hands: run by a Node, and seen by a compiler that forgives nothing. */
export async function checkConsumers(root: string, project: string): Promise<Outcome> {
  const problems: string[] = [];
  const ran = await runConsumer(process.execPath, project);
  if (!isWell(ran)) problems.push(`A program that uses the package failed:\n    ${said(ran)}`);
  for (const [name, options] of Object.entries(resolutions)) {
    const folder = join(project, `types-${name}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), `{ "private": true, "type": "module" }\n`);
    writeFileSync(join(folder, "consumer.ts"), consumerProgram);
    writeFileSync(join(folder, "mistakes.ts"), consumerMistakes);
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings(options)));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const ended = await runProgram(process.execPath, [compiler, "-p", folder], { cwd: folder });
    // Declarations of others are theirs to mend; what is wrong in ours is wrong for every consumer.
    const ours = ended.stdout
      .split("\n")
      .filter((line) => /error TS/.test(line) && !/node_modules\/(?!mandate\/)/.test(line));
    if (ours.length > 0) problems.push(`Types (${name}):\n    ${ours.slice(0, 12).join("\n    ")}`);
    else if (ended.code !== 0 && !ended.stdout.includes("error TS")) {
      problems.push(`The compiler failed (${name}):\n    ${said(ended)}`);
    }
  }
  return outcomeOf(
    problems,
    `run, and type-checked with ${Object.keys(resolutions).join(" and ")}`,
  );
}

function settings(resolution: object): object {
  return {
    compilerOptions: {
      ...resolution,
      target: "es2024",
      lib: ["es2024", "esnext.disposable", "dom"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    },
  };
}

/** Runs the consumer's program in the project, on any Node. */
export function runConsumer(node: string, project: string): Promise<Ended> {
  writeFileSync(join(project, "consumer.mjs"), consumerProgram);
  const environment = { PATH: process.env["PATH"], HOME: join(project, "home") };
  return runProgram(node, ["consumer.mjs"], { cwd: project, environment, timeoutMs: 120_000 });
}

export function isWell({ code, stdout }: Ended): boolean {
  return code === 0 && stdout.startsWith("all is well");
}

function said({ stdout, stderr }: Ended): string {
  return tail(`${stdout}${stderr}`);
}
