import { realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
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
  const path = await realFolder(resolve(first, requested ?? "."));
  if (path !== undefined && workspaces.some((root) => isInside(root, path))) return path;
  throw new MandateError(
    "refused-by-policy",
    `There is no folder ${JSON.stringify(requested?.slice(0, 200) ?? first)} among those that this server serves. Name one of them or a folder below it, or start the server with --workspace DIR.`,
  );
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    // Not there, not ours to see, or no path at all: all the same to whoever asks.
    return undefined;
  }
}

/** Segment by segment: /srv/app-evil is not inside /srv/app. */
function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}
