import { relative, sep } from "node:path";
import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import { resolveInside } from "../../workspaces/resolve-inside.ts";
import type { ToolContext } from "../tool.ts";
import { requireWorkspace } from "./require-workspace.ts";

/** Where a path really leads, from the workspace's root: `./a/../b` and a link to b are both b. */
export function pathAbout(path: string, context: ToolContext): CallSubjects {
  const workspace = requireWorkspace(context);
  const place = relative(workspace.root, resolveInside(workspace, path).path);
  return { kind: "path", values: [place.split(sep).join("/") || "."] };
}
