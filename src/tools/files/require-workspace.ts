import type { WorkspaceBinding } from "../../workspaces/bind-workspace.ts";
import { PathDenied } from "../../workspaces/resolve-inside.ts";
import type { ToolContext } from "../tool.ts";

/** The binding of this very delegation; a file tool without one has nowhere to look. */
export function requireWorkspace(context: ToolContext): WorkspaceBinding {
  if (context.workspace !== null) return context.workspace;
  throw new PathDenied(
    "no_workspace",
    "You have no workspace, so there are no files to read or write. Answer from what you were given.",
  );
}
