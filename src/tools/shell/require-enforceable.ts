import { CallDenied } from "../../ports/call-denied.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import type { WorkspaceBinding } from "../../workspaces/workspace-binding.ts";

/** Throws unless commands can be held to what the workspace allows, or the operator waived it. */
export function requireEnforceable(
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
