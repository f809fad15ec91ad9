import { readdirSync, readFileSync } from "node:fs";
import { until } from "../../testing/until.ts";
import { bindWorkspace, type WorkspaceRequest } from "../../workspaces/bind-workspace.ts";
import { detectSandbox, type SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { createShellTool, type ShellOptions } from "./shell-tool.ts";

export const machine: SandboxFinding = detectSandbox(process.env);

/** Part of a title, so that a summary says why tests were left out. */
export const whySkipped = machine.isUsable ? "" : ` (skipped: ${machine.problem})`;

/**
 * A daemon by the book: two forks, a session of its own, deaf to every polite signal. `name` is part
 * of its command line; there is a file `beat` once it runs.
 */
export function daemonNamed(name: string): string {
  return `(setsid sh -c ": ${name}; trap '' TERM HUP INT QUIT
  (while :; do date +%s%N > beat; sleep 0.05; done) &" </dev/null >/dev/null 2>&1 &)
  while [ ! -e beat ]; do sleep 0.02; done`;
}

/** Processes of the machine whose command line holds this text. */
export function countProcesses(text: string): number {
  return readdirSync("/proc").filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/cmdline`, "latin1").includes(text);
    } catch {
      return false;
    }
  }).length;
}

/** Resolves when no process has this in its command line any more. */
export async function untilGone(text: string): Promise<void> {
  await until(`no process of ${text} is left`, () => countProcesses(text) === 0);
}

export interface Setting {
  readonly root: string;
  readonly request?: Partial<WorkspaceRequest>;
  /** What its binding lets be read elsewhere. */
  readonly visible?: readonly string[];
  readonly options?: Partial<ShellOptions>;
  readonly context?: Partial<ToolContext>;
}

/** A shell of one delegation over one folder, as the gate would call it. */
export function openShell({ root, request, visible = [], options, context }: Setting) {
  const environment = { ...process.env };
  const shell = createShellTool({ sandbox: machine, environment, ...options });
  const bound = bindWorkspace({ root, isolation: "shared", allowWrites: true, ...request });
  const workspace = { ...bound, visible };
  const { signal } = new AbortController();
  const given = { runId: "r", delegationId: "d", callId: "c", workspace, skills: [], network: [] };
  const full = { ...given, signal, ...context } as unknown as ToolContext;
  const call = async (input: object): Promise<ToolResult> => {
    const parsed = shell.tool.input.parse(input);
    shell.tool.preflight?.(parsed, full);
    const output = await shell.tool.execute(parsed, full);
    return typeof output === "string" ? { text: output } : output;
  };
  return {
    ...shell,
    context: full,
    call,
    run: async (command: string) => (await call({ command })).text,
  };
}

export type OpenedShell = ReturnType<typeof openShell>;
