import { MandateError } from "../../ports/mandate-error.ts";
import type { ParsedProfile } from "../profiles/parse-profile-document.ts";
import type { Findings } from "./findings.ts";
import type { MarkdownSource, ReadAgents } from "./read-markdown-agent.ts";
import { toProfileName } from "./to-profile-name.ts";

/** A profile of ours, by our own loader: strict, and nothing of it is lost. */
export function readOwnProfile(
  { fallbackName, findings, path, text }: MarkdownSource,
  parse: (source: string, file: string) => ParsedProfile,
): ReadAgents {
  try {
    const { name, fields } = parse(text, path);
    const agent = { name: name ?? toProfileName(fallbackName, fallbackName), fields, loss: [] };
    return { format: "mandate", agents: [agent] };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    for (const problem of error.message.split("\n")) refuseAtLine(problem, path, findings);
    return { format: "mandate", agents: [] };
  }
}

/** A report names the file already. */
function refuseAtLine(problem: string, path: string, findings: Findings): void {
  const own = problem.startsWith(`${path}:`) ? problem.slice(path.length) : problem;
  const [, line, message = problem] = /^:(\d+): (.*)$/s.exec(own) ?? [];
  findings.refuse(message, line === undefined ? undefined : Number(line));
}
