import type { z } from "zod";
import type { Session } from "../../delegations/session.ts";
import type { Toolbox } from "../../tools/toolbox.ts";

/** The shape of a tool in the AI SDK; its package is not needed to make one. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: z.ZodType;
  execute(input: unknown): Promise<string>;
}

export interface DelegationTools {
  /** By name, ready for `tools:` of an AI SDK agent. */
  readonly tools: Readonly<Record<string, AiSdkTool>>;
  /** The run that holds what is delegated through them. */
  readonly runId: string;
  close(): Promise<void>;
}

/** The delegation tools of a session; every call passes the gate of the session's contract. */
export function delegationTools(session: Session, toolbox: Toolbox): DelegationTools {
  const tools: Record<string, AiSdkTool> = {};
  for (const name of session.tools) {
    const tool = toolbox.get(name);
    if (tool?.effect !== "spawn") continue;
    tools[name] = {
      description: tool.description,
      inputSchema: tool.input,
      execute: async (input) => (await session.call(name, input)).text,
    };
  }
  return { tools, runId: session.runId, close: () => session.close() };
}
