/** Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` to it. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/** Whether some file system takes a part of the path for `.git`: by case, short name or stream. */
export function namesGitDirectory(path: string): boolean {
  return path.split(/[/\\]/).some((part) => {
    const plain = part.replace(ignorable, "").toLowerCase();
    const windows = plain.replace(/:.*$/s, "").replace(/[ .]+$/, "");
    return windows === ".git" || windows === "git~1";
  });
}

const controlFiles = [".gitattributes", ".gitmodules", ".gitignore", ".mailmap"];

/** Files that git reads as instructions: as plain data they may change, as links they may not. */
export function isControlFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(ignorable, "");
  return controlFiles.includes(name.toLowerCase());
}
