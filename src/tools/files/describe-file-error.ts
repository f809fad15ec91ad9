import type { ToolResult } from "../tool.ts";

/**
 * What the file system said, as a result that tells a model what to do next. Only the code is used:
 * the system's own message can name paths outside the workspace. Whatever is not an error of the
 * file system (a denial, an abort) is thrown on.
 */
export function describeFileError(error: unknown, path: string): ToolResult {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) throw error;
  const sentence = sentences[code] ?? ((shown) => `${shown} could not be used (${code}).`);
  return { text: sentence(JSON.stringify(path)), isError: true };
}

type Sentence = (path: string) => string;

const noSpace: Sentence = (path) =>
  `The disk is full: ${path} was not written, and what was there before is unchanged. Do not ` +
  "retry; finish with what you have and report that the disk is full.";

const notPermitted: Sentence = (path) =>
  `The operating system does not permit this for ${path}. Retrying will not help; use another ` +
  "file or report it.";

const sentences: Readonly<Record<string, Sentence>> = {
  ENOENT: (path) => `There is no ${path}. list_files shows what there is.`,
  EISDIR: (path) => `${path} is a folder. Name a file in it; list_files shows what there is.`,
  ENOTDIR: (path) => `${path} is not a folder, or goes through a file as if it were one.`,
  ENAMETOOLONG: (path) => `A name in ${path} is longer than the file system allows.`,
  EACCES: notPermitted,
  EPERM: notPermitted,
  ENOSPC: noSpace,
  EDQUOT: noSpace,
  EROFS: (path) => `${path} lies on a disk that is mounted read-only, so it cannot be written.`,
};
