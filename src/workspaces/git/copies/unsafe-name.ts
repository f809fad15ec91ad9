import { foldedName } from "../../protected/folded-name.ts";

/** Whether some file system takes a part of the path for `.git`: by case, short name or stream. */
export function namesGitDirectory(path: string): boolean {
  return path.split(/[/\\]/).some((part) => [".git", "git~1"].includes(foldedName(part)));
}

const controlFiles = [".gitattributes", ".gitmodules", ".gitignore", ".mailmap"];

/** Files that git reads as instructions: as plain data they may change, as links they may not. */
export function isControlFile(path: string): boolean {
  return controlFiles.includes(foldedName(path.slice(path.lastIndexOf("/") + 1)));
}
