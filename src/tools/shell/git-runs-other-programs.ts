import { hasOption } from "./has-option.ts";

/**
 * Git runs programs that its settings, its options and its own commands name. What is left here:
 * known commands, without the options that name a program or another repository's settings.
 */
export function gitRunsOtherPrograms(args: readonly string[]): boolean {
  const first = args.findIndex((arg) => !harmlessFirst.has(arg));
  const command = args[first];
  // Alone, or with what only shows something.
  if (command === undefined) return false;
  const options = args.slice(first + 1);
  if (command === "--version" || command === "version") return options.length > 0;
  if (command === "config") return !readsSettings(options);
  // Not a known one: an alias, or a program somewhere called git-<command>.
  if (!commands.has(command)) return true;
  if (namesProgram(options)) return true;
  return shortNaming[command]?.(options) ?? false;
}

const harmlessFirst: ReadonlySet<string> = new Set([
  ...["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"],
]);

const commands: ReadonlySet<string> = new Set(
  [
    "add am apply blame branch cat-file check-ignore checkout cherry cherry-pick clean clone",
    "commit count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref",
    "format-patch grep hash-object init log ls-files ls-remote ls-tree merge merge-base mv",
    "name-rev pull push range-diff read-tree rebase reflog remote reset restore rev-list",
    "rev-parse revert rm shortlog show show-ref stash status switch symbolic-ref tag",
    "update-index update-ref whatchanged worktree write-tree",
  ].flatMap((names) => names.split(" ")),
);

const namesProgram = hasOption(
  [
    ...["exec", "upload-pack", "receive-pack", "ext-diff", "textconv", "open-files-in-pager"],
    ...["config", "template", "help", "interactive", "edit-todo", "edit-description", "gpg-sign"],
    ...["server-option", "separate-git-dir", "paginate", "show-signature", "recurse-submodules"],
  ],
  "",
);

/** The same options by their letter, where a letter means that. */
const shortNaming: Readonly<Record<string, (args: readonly string[]) => boolean>> = {
  clone: hasOption([], "uc"),
  grep: hasOption([], "O"),
  rebase: hasOption([], "xiS"),
  pull: hasOption([], "S"),
  merge: hasOption([], "sS"),
  commit: hasOption([], "S"),
  tag: hasOption([], "suv"),
  fetch: hasOption([], "u"),
};

function readsSettings(options: readonly string[]): boolean {
  const [first = ""] = options;
  return /^(?:--get|--get-all|--get-regexp|--list|-l)$/.test(first) && !writes(options.slice(1));
}

function writes(options: readonly string[]): boolean {
  return options.some((option) => option.startsWith("-"));
}
