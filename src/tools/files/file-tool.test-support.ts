import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace, type WorkspaceRequest } from "../../workspaces/bind-workspace.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";

/** A folder with these files, removed after the test. */
export function makeTree(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const root = testFolder();
  addFiles(root, files);
  return root;
}

export function addFiles(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

export function contextFor(root: string, more: Partial<WorkspaceRequest> = {}): ToolContext {
  const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: true, ...more });
  const { signal } = new AbortController();
  return { runId: "r", delegationId: "d", callId: "c", workspace, signal } as ToolContext;
}

/** Calls a tool as the gate does: parsed, looked at, then run. */
export async function callTool(
  tool: Tool,
  input: object,
  context: ToolContext,
): Promise<ToolResult> {
  const parsed = tool.input.parse(input);
  try {
    tool.preflight?.(parsed, context);
  } catch (error) {
    // What the file system says is the tool's to tell.
    if (!(error instanceof Error) || error.name !== "Error") throw error;
  }
  const output = await tool.execute(parsed, context);
  return typeof output === "string" ? { text: output } : output;
}
