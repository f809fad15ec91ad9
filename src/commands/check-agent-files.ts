import type { AgentFile, Diagnostic, Loss } from "../profiles/foreign/agent-file.ts";
import { findAgentFiles } from "../profiles/foreign/find-agent-files.ts";
import { readAgentFile } from "../profiles/foreign/read-agent-file.ts";

/** What is to be said about one file; the words of the published format. */
export interface FileReport {
  readonly file: string;
  readonly format: AgentFile["format"];
  readonly status: AgentFile["status"];
  /** Of its only or first agent; null where it defines none. */
  readonly name: string | null;
  /** Of all its agents, where it holds several. */
  readonly names?: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  readonly loss: readonly Loss[];
}

/** Reads every agent file of these files and folders and reports on each; nothing is changed. */
export function checkAgentFiles(paths: readonly string[], root?: string): readonly FileReport[] {
  return findAgentFiles(paths).map((file) => {
    return reportOf(readAgentFile(file, root === undefined ? {} : { root }));
  });
}

function reportOf({
  agents,
  diagnostics,
  file,
  format,
  loss,
  servers,
  status,
}: AgentFile): FileReport {
  const names = agents.length > 0 ? agents.map(({ name }) => name) : Object.keys(servers);
  return {
    file,
    format,
    status,
    name: names[0] ?? null,
    ...(names.length > 1 && { names }),
    diagnostics,
    loss: withoutRepetition([...loss, ...agents.flatMap((agent) => agent.loss)]),
  };
}

/** What holds for the file and for its only agent is said once. */
function withoutRepetition(loss: readonly Loss[]): readonly Loss[] {
  return [...new Map(loss.map((each) => [JSON.stringify(each), each])).values()];
}
