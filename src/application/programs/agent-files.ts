import { isAbsolute, relative } from "node:path";
import {
  type CreateTerminalRequest,
  type ReadTextFileRequest,
  RequestError,
  type TerminalOutputResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import type { ProgramHost } from "../../delegations/agent-programs.ts";
import { headOf } from "../../text.ts";
import type { NativeAct, ToolResult } from "../../tools/tool.ts";

const mostTerminals = 64;
/** As long as a command may take at most. */
const commandMs = 3_600_000;

interface Terminal {
  readonly ended: Promise<ToolResult>;
  readonly stop: AbortController;
  result: ToolResult | null;
}

/**
 * Files and commands that a program asks us for, in place of its own ways to them: each request is a call
 * of the tool of ours that does the same, and passes the gate.
 */
export class AgentFiles {
  readonly #host: ProgramHost;
  readonly #terminals = new Map<string, Terminal>();

  constructor(host: ProgramHost) {
    this.#host = host;
  }

  async read({ limit, line, path }: ReadTextFileRequest): Promise<{ content: string }> {
    const content = await this.#call("read", {
      path: this.#inside(path),
      ...(line != null && line > 0 && { offset: line }),
      limit: limit ?? 100_000,
    });
    return { content };
  }

  async write({ content, path }: WriteTextFileRequest): Promise<Record<string, never>> {
    await this.#call("write", { path: this.#inside(path), content });
    return {};
  }

  createTerminal(request: CreateTerminalRequest): { terminalId: string } {
    if (this.#terminals.size >= mostTerminals) {
      throw RequestError.invalidRequest(undefined, `${mostTerminals} terminals are open already.`);
    }
    const { args = [], command, cwd, env = [] } = request;
    const variables = env.map(({ name, value }) => `${name}=${value}`);
    // A command without arguments may be a line for a shell.
    const argv = args.length === 0 ? ["/bin/sh", "-c", command] : [command, ...args];
    const stop = new AbortController();
    const input = {
      argv: variables.length === 0 ? argv : ["env", ...variables, ...argv],
      ...(cwd != null && { cwd: this.#inside(cwd) }),
      timeout_ms: commandMs,
    };
    const ended = this.#host.callNative("run", input, stop.signal);
    const terminal: Terminal = { ended, stop, result: null };
    ended.then(
      (result) => {
        terminal.result = result;
      },
      () => undefined,
    );
    const terminalId = `terminal-${this.#terminals.size + 1}-${crypto.randomUUID().slice(0, 8)}`;
    this.#terminals.set(terminalId, terminal);
    return { terminalId };
  }

  output({ terminalId }: { readonly terminalId: string }): TerminalOutputResponse {
    const { result } = this.#find(terminalId);
    if (result === null) return { output: "", truncated: false };
    return { output: result.text, truncated: false, exitStatus: exitOf(result) };
  }

  async wait({ terminalId }: { readonly terminalId: string }) {
    return exitOf(await this.#find(terminalId).ended);
  }

  /** The command ends; its output is kept until the terminal is released. */
  kill({ terminalId }: { readonly terminalId: string }): Record<string, never> {
    this.#find(terminalId).stop.abort();
    return {};
  }

  release({ terminalId }: { readonly terminalId: string }): Record<string, never> {
    this.kill({ terminalId });
    this.#terminals.delete(terminalId);
    return {};
  }

  #find(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal === undefined) throw RequestError.invalidRequest(undefined, "No such terminal.");
    return terminal;
  }

  async #call(act: NativeAct, input: unknown): Promise<string> {
    const { isError, text } = await this.#host.callNative(act, input);
    if (isError) throw RequestError.invalidRequest(undefined, headOf(text, 1000));
    return text;
  }

  /** The protocol names files by absolute paths; our tools by paths below the workspace. */
  #inside(path: string): string {
    const root = this.#host.workspace?.root ?? "/";
    if (!isAbsolute(path)) return path;
    return relative(root, path) || ".";
  }
}

function exitOf({ exitCode, isError }: ToolResult): { exitCode: number } {
  return { exitCode: exitCode ?? (isError ? 1 : 0) };
}
