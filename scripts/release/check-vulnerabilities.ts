import type { Outcome } from "./outcome.ts";
import { outcomeOf } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

/** `npm audit` of what comes with the package. A registry that offers none is named, and no proof. */
export async function checkVulnerabilities(root: string): Promise<Outcome> {
  const words = ["audit", "--omit=dev", "--json", "--audit=true"];
  const { stdout, stderr } = await runProgram("npm", words, { cwd: root });
  return judgeAudit(stdout, stderr);
}

interface Audit {
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity?: string; readonly range?: string }>
  >;
}

export function judgeAudit(stdout: string, stderr: string): Outcome {
  const { vulnerabilities } = parse(stdout);
  if (vulnerabilities === undefined) {
    const why = /\b(?<status>[45]\d\d [A-Z][\w ]*|E[A-Z]{4,})/.exec(`${stderr}${stdout}`);
    return outcomeOf([], `not checked: the registry offers no audit (${why?.[0] ?? "no answer"})`);
  }
  const problems = Object.entries(vulnerabilities).map(
    ([name, { severity = "unknown", range = "" }]) => `${name} ${range}: ${severity}.`,
  );
  return outcomeOf(problems, "npm audit of the production tree");
}

function parse(text: string): Audit {
  try {
    return JSON.parse(text) as Audit;
  } catch {
    return {};
  }
}
