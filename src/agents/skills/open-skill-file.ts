import { isAbsolute, win32 } from "node:path";
import { CallDenied } from "../../ports/mandate-error.ts";
import { type OpenFile, openFile } from "../../workspaces/open-file.ts";
import { PathDenied } from "../../workspaces/resolve-inside.ts";

/**
 * Opens a file of a skill by the boundary that workspaces have: what lies outside the folder, by
 * its path or through a link, and whatever is no regular file, is denied. `folder` is a real path.
 */
export function openSkillFile(folder: string, file: string): OpenFile {
  if (isAbsolute(file) || win32.isAbsolute(file)) throw outside(file);
  const binding = {
    root: folder,
    isolation: "shared",
    allowWrites: false,
    writeRoots: [],
  } as const;
  try {
    return openFile(binding, file);
  } catch (error) {
    // The boundary speaks of workspaces and their tools, which are of no use here.
    if (error instanceof PathDenied && error.rule === "path_outside_workspace") throw outside(file);
    throw error;
  }
}

function outside(file: string): CallDenied {
  return new CallDenied(
    "path_outside_skill",
    `${JSON.stringify(file)} points outside the skill's folder. Name a file below it, such as ` +
      '"references/guide.md"; without a file, load_skill lists what there is.',
  );
}
