/** The agent programs that Mandate knows how to start, configure and meter. */
export const knownAgents = ["claude-code", "codex", "gemini", "opencode"] as const;

export type KnownAgent = (typeof knownAgents)[number];

/**
 * The program that works on a delegation in place of our own loop: a known one, or any command that
 * speaks the Agent Client Protocol. `login: own`: the program uses its own credentials, so that its
 * tokens and dollars are not metered. The form is a stored format.
 */
export type AgentRunner =
  | { readonly agent: KnownAgent; readonly login?: "own" | undefined }
  | { readonly acp: readonly string[] };

/** The name of a runner for people and adapters. */
export function runnerName(runner: AgentRunner): KnownAgent | "acp" {
  return "acp" in runner ? "acp" : runner.agent;
}

/** Whether the program's requests to models pass the gateway, so that tokens and dollars are enforced. */
export function isMetered(runner: AgentRunner): boolean {
  return "acp" in runner || runner.login === undefined;
}

/** The program of a contract, for people. */
export function describeRunner(runner: AgentRunner): string {
  const name = "acp" in runner ? runner.acp.join(" ") : runner.agent;
  return `${name}, in a sandbox around its working copy; ${isMetered(runner) ? "its models through the gateway" : "with your login of it"}`;
}

/** What a contract says and nothing enforces; undefined: all of it is enforced. */
export function notEnforced(runner: AgentRunner | undefined): string | undefined {
  if (runner === undefined || isMetered(runner)) return undefined;
  return "tokens, dollars, turns and models: the program asks models with its own login";
}
