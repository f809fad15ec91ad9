/**
 * The shell tool, and the commands that check merges. Sandboxes are made by workspaces/sandbox; this
 * folder starts commands in them, bounds their output and tells rules what a command is about.
 */
import { statSync } from "node:fs";
import { z } from "zod";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import { removeStaleScratchFolders } from "../../workspaces/sandbox/scratch-folder.ts";
import { requireWorkspace } from "../files/file-call.ts";
import { defineTool, type Tool, type ToolContext, type ToolResult } from "../tool.ts";
import { type CommandSettings, type CommandSetup, createCommandSetup } from "./command-runner.ts";
import { DelegationShell } from "./delegation-shell.ts";
import { failure, tellEnd, tellState, waitFor } from "./describe-outcome.ts";
import { createMergeChecks, type MergeChecks } from "./merge-checks.ts";
import type { ShellProcess } from "./shell-process.ts";
import { subjectsOfArguments, subjectsOfCommand } from "./subjects-of-command.ts";

export interface ShellOptions extends CommandSettings {
  /** Commands reach the hosts that the contract grants. */
  readonly network?: boolean;
  readonly clock?: Clock;
}

export interface Shell {
  readonly tool: Tool;
  /** Works also where the tool is not offered: merge checks do not depend on it. */
  readonly checksFor: MergeChecks["checksFor"];
  /** How programs are started and held, for what is not a command: agent programs. */
  readonly commands: CommandSetup;
  /** Ends what a delegation left running; resolves when nothing is left of it. */
  release(delegationId: string): Promise<void>;
  close(): Promise<void>;
}

/** Below the usual deadline of a tool, so that the output until then is returned. */
const defaultTimeoutMs = 100_000;
const maximumInBackground = 8;
const firstWordsMs = 150;

export function createShellTool(options: ShellOptions): Shell {
  const shells = new Map<string, DelegationShell>();
  const { clock = systemClock } = options;
  const setup = createCommandSetup(options, clock);
  const checks = createMergeChecks(setup, clock);
  let isClosed = false;
  // System time, since folders have timestamps of the system.
  void removeStaleScratchFolders(systemClock.now());

  const tool = defineTool<ShellInput>({
    name: "shell",
    description:
      "Run a command in the workspace: a line for sh (command), or a program with its arguments " +
      "(argv). Gives the exit code and the output. The system is read-only outside the workspace, " +
      "and there is usually no network: granted hosts are reached over HTTP and HTTPS, through the " +
      "proxy that the environment names; /tmp and the home are private and kept until you are " +
      "done. Everything a command starts ends with it: use background for servers, then handle " +
      "with action read, wait or stop.",
    effect: "exec",
    exposure: {
      untrusted: true,
      private: "workspace",
      // Without a sandbox the reach of a command is unknown.
      wayOut: options.unsandboxed === true || (options.network === true && "granted_hosts"),
    },
    native: "run",
    idempotent: false,
    // Looked for only where the operator waived it.
    isUnsandboxed: () => options.unsandboxed === true && !setup.prepare().sandbox.isUsable,
    scopes: ["shell"],
    input: shellInput,
    preflight({ cwd }, context) {
      const workspace = requireWorkspace(context);
      requireEnforceable(workspace, setup.prepare());
      if (cwd !== undefined) resolveInside(workspace, cwd);
    },
    about({ command, argv, handle }, { delegationId }) {
      const started = handle && shells.get(delegationId)?.find(handle);
      if (started) return started.subjects;
      const known = argv ? subjectsOfArguments(argv) : subjectsOfCommand(command ?? "");
      // Unknown subjects: each rule takes its stricter reading.
      return known ?? { kind: "text", values: [] };
    },
    execute(input, context) {
      if (isClosed) throw new Error("The runtime is closing; no command is started any more.");
      return input.handle === undefined ? run(input, context) : attend(input, context);
    },
  });

  return {
    tool,
    checksFor: checks.checksFor,
    commands: setup,
    release,
    async close() {
      isClosed = true;
      await Promise.all([checks.close(), ...[...shells.keys()].map(release)]);
    },
  };

  async function release(delegationId: string): Promise<void> {
    const shell = shells.get(delegationId);
    shells.delete(delegationId);
    await Promise.all([checks.release(delegationId), shell?.release()]);
    await setup.release(delegationId);
  }

  async function run(input: ShellInput, context: ToolContext): Promise<ToolResult> {
    const { signal, delegationId } = context;
    signal.throwIfAborted();
    const shell = shellOf(delegationId);
    const workspace = requireWorkspace(context);
    const prepared = setup.prepare();
    requireEnforceable(workspace, prepared);
    const nested = await prepared.runner.guardNested(workspace);
    if (input.background && shell.runningInBackground >= maximumInBackground) {
      await nested.leave();
      return failure(`${maximumInBackground} commands run in the background already. Stop one.`);
    }
    let started: ShellProcess;
    try {
      signal.throwIfAborted();
      if (shells.get(delegationId) !== shell) throw new Error("The delegation has ended.");
      const request = { delegationId, workspace, nested, scratch: shell.scratch };
      started = prepared.runner.start({ ...request, ...commandOf(input, context, workspace) });
      shell.follow(started);
    } catch (error) {
      await nested.leave();
      throw error;
    }
    const onAbort = () => void started.end("It was stopped.");
    signal.addEventListener("abort", onAbort, { once: true });
    if (input.background) {
      const subjects = (await tool.about?.(input, context)) ?? { kind: "text", values: [] };
      const handle = shell.keep({ process: started, subjects });
      await waitFor(started, firstWordsMs, signal, clock);
      return tellState(started, `It runs in the background as ${handle}.`);
    }
    try {
      const ms = input.timeout_ms ?? defaultTimeoutMs;
      if (!(await waitFor(started, ms, signal, clock))) {
        await started.end(`It took longer than ${ms} ms and was ended.`);
      }
      return await tellEnd(started);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  function commandOf(input: ShellInput, { network }: ToolContext, workspace: WorkspaceBinding) {
    const cwd = resolveInside(workspace, input.cwd ?? ".").path;
    if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new Error(`"${input.cwd}" is not a folder of the workspace.`);
    }
    const argv = input.argv ?? ["/bin/sh", "-c", input.command ?? ""];
    return { cwd, argv, network: options.network === true ? network : [] };
  }

  async function attend(input: ShellInput, { delegationId, signal }: ToolContext) {
    const shell = shells.get(delegationId);
    const { handle = "", action } = input;
    const process = shell?.find(handle)?.process;
    if (process === undefined) {
      const known = shell?.handles.join(", ") || "none";
      return failure(`There is no command "${handle}" in the background. There are: ${known}.`);
    }
    if (action === "stop") await process.end("It was stopped.");
    if (action === "wait") await waitFor(process, input.timeout_ms ?? 30_000, signal, clock);
    return tellState(process, "It still runs.");
  }

  function shellOf(delegationId: string): DelegationShell {
    const known = shells.get(delegationId) ?? new DelegationShell();
    shells.set(delegationId, known);
    return known;
  }
}

/** Throws unless commands can be held to what the workspace allows, or the operator waived it. */
function requireEnforceable(
  workspace: WorkspaceBinding,
  options: { readonly sandbox: SandboxFinding; readonly unsandboxed: boolean },
): void {
  const { sandbox, unsandboxed } = options;
  if (sandbox.isUsable) {
    if (!/^\/(?:(?:proc|sys)(?:\/|$)|$)/.test(workspace.root)) return;
    throw new CallDenied(
      "no_sandbox",
      `No sandbox can be made around "${workspace.root}". Work without shell.`,
    );
  }
  if (!unsandboxed) {
    throw new CallDenied(
      "no_sandbox",
      `Commands cannot be run here, since nothing would hold them to the contract. ` +
        `${sandbox.problem} Work with the file tools instead.`,
    );
  }
  if (!workspace.allowWrites) {
    throw new CallDenied(
      "no_sandbox",
      `Your workspace is read-only, and without a sandbox no command can be held to that. ` +
        `${sandbox.problem} Work with the file tools instead.`,
    );
  }
}

const text = z
  .string()
  .max(32_000)
  .refine((value) => !value.includes("\0") && value.isWellFormed(), "holds what no command can");

const fields = z.strictObject({
  command: text.min(1).optional().describe("A line for sh. Either this or argv."),
  argv: z
    .array(text)
    .min(1)
    .max(1000)
    .refine((words) => words.join("").length <= 100_000, "is too long")
    .refine(([program = ""]) => /^[^-]/.test(program), "must begin with a program")
    .optional()
    .describe("A program and its arguments, run without a shell: nothing in them is expanded."),
  cwd: z.string().min(1).max(4096).optional().describe("A folder below the workspace's root."),
  timeout_ms: z
    .int()
    .min(1)
    .max(3_600_000)
    .optional()
    .describe("Ends the command after so long; with wait: how long to wait."),
  background: z.boolean().optional().describe("Go on at once and get a handle."),
  handle: z.string().min(1).max(20).optional().describe("Of a command in the background."),
  action: z
    .enum(["read", "wait", "stop"])
    .optional()
    .describe("With handle: what it said since the last time, or wait for its end, or end it."),
});

type ShellInput = z.infer<typeof fields>;

/** Exactly one of: a command line, a program, a running command. */
const shellInput = fields.superRefine((input, issues) => {
  const named = [input.command, input.argv, input.handle].filter((value) => value !== undefined);
  if (named.length !== 1) complain("give exactly one of command, argv and handle");
  if (input.handle === undefined && input.action !== undefined) complain("action needs a handle");
  if (input.handle !== undefined && input.action === undefined) {
    complain("a handle needs an action: read, wait or stop");
  }
  if (input.handle !== undefined && (input.cwd !== undefined || input.background !== undefined)) {
    complain("cwd and background are for new commands");
  }

  function complain(message: string): void {
    issues.addIssue({ code: "custom", message });
  }
});
