import { resolve } from "node:path";
import { realFolder } from "../../files.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { isInside } from "../mcp/client-folders.ts";
import type { Host } from "./host.ts";

/**
 * The folder that a request is about, as its real path. It has to be one of the server's folders or
 * lie below one after every link was followed; nothing said means the first of them. What lies
 * outside and what does not exist are refused in the same words, so that nobody can ask a server
 * what there is on its machine.
 */
export async function workspaceOf(
  { workspaces }: Pick<Host, "workspaces">,
  requested?: string | undefined,
): Promise<string> {
  const [first] = workspaces;
  if (first === undefined) {
    throw new MandateError(
      "refused-by-policy",
      "This server serves no folder. Start it with --workspace DIR.",
    );
  }
  // Not there, not ours to see, or no path at all: the same to the caller.
  const path = await realFolder(resolve(first, requested ?? "."));
  if (path !== undefined && workspaces.some((root) => isInside(root, path))) return path;
  throw new MandateError(
    "refused-by-policy",
    `There is no folder ${JSON.stringify(requested?.slice(0, 200) ?? first)} among those that this server serves. Name one of them or a folder below it, or start the server with --workspace DIR.`,
  );
}
