import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import { lexCommand, type Words } from "./lex-command.ts";

/**
 * What a line runs, as one text for each simple command, so that a rule has to fit every one of
 * them. Undefined when that cannot be told for certain: then each rule takes its stricter reading.
 */
export function subjectsOfCommand(line: string): CallSubjects | undefined {
  const commands = lexCommand(line);
  return commands && subjectsOf(commands);
}

export function subjectsOfArguments(argv: Words): CallSubjects | undefined {
  return subjectsOf([argv]);
}

function subjectsOf(commands: readonly Words[]): CallSubjects | undefined {
  const values = new Set<string>();
  for (const words of commands) {
    const [program = "", ...args] = words;
    // An assignment, an option or a path with odd characters is not the name of a program.
    if (!/^[A-Za-z0-9_./+][A-Za-z0-9_./+-]*$/.test(program)) return undefined;
    const name = program.slice(program.lastIndexOf("/") + 1);
    if (name === "" || runsOtherPrograms(name, args)) return undefined;
    values.add(render(words));
    // By its name alone as well: a rule that forbids rm means /bin/rm too.
    if (name !== program) values.add(render([name, ...args]));
  }
  return { kind: "text", values: [...values] };
}

/** One text for one list of words: a word that would not stand for itself is quoted. */
function render(words: Words): string {
  return words
    .map((word) =>
      /^[A-Za-z0-9_./:,@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
    )
    .join(" ");
}

/**
 * Whether a command may run other programs than its name says, so that a rule must not allow it by
 * its name. Programs that run code by purpose (node, make, npm) are not meant: a rule that allows
 * them allows that code.
 */
function runsOtherPrograms(name: string, args: readonly string[]): boolean {
  if (always.has(name)) return true;
  if (name === "git") return gitRunsOtherPrograms(args);
  const judge = byArguments.get(name);
  return judge?.(args) ?? false;
}

const always: ReadonlySet<string> = new Set(
  [
    // Reserved words and what changes the meaning of the words after it.
    "if then else elif fi for while until do done case esac in select function time coproc",
    "eval exec command builtin source . trap alias unalias hash export set unset enable read",
    "readonly declare typeset local shopt mapfile readarray getopts let bind complete fc shift",
    // Shells, and what runs its arguments.
    "sh bash dash ash zsh ksh mksh fish csh tcsh rbash busybox toybox env sudo doas su runuser",
    "xargs nohup timeout nice ionice chrt setsid stdbuf unbuffer watch parallel script expect",
    "strace ltrace gdb lldb valgrind perf catchsegv unshare nsenter chroot bwrap firejail flock",
    "setarch linux32 linux64 setpriv capsh prlimit taskset numactl start-stop-daemon systemd-run",
    "at batch crontab run-parts dbus-run-session xvfb-run screen tmux socat nc ncat netcat",
    "ssh scp sftp sshpass ld.so ld-linux.so.2 ld-linux-x86-64.so.2 install-strip pkexec",
    "chronic ts ifne torsocks proxychains eatmydata fakeroot faketime entr inotifywait",
    // Editors and pagers, which offer a shell.
    "vi vim view nvim ex ed emacs nano pico less more most man info pg lynx w3m",
  ].flatMap((names) => names.split(" ")),
);

const byArguments: ReadonlyMap<string, (args: readonly string[]) => boolean> = new Map([
  ["find", (args) => args.some((arg) => /^-(?:exec|ok|delete|fprint|fls)/.test(arg))],
  ["fd", hasOption(["exec", "exec-batch"], "xX")],
  ["fdfind", hasOption(["exec", "exec-batch"], "xX")],
  ["rg", hasOption(["pre", "hostname-bin", "search-zip"], "z")],
  ["sort", hasOption(["compress-program", "output", "temporary-directory"], "oT")],
  ["split", hasOption(["filter"], "")],
  ["rsync", hasOption(["rsh", "rsync-path", "daemon"], "e")],
  ["zip", hasOption(["unzip-command", "test"], "T")],
  ["wget", hasOption(["use-askpass", "execute", "config"], "e")],
  ["curl", hasOption(["config"], "K")],
  ["install", hasOption(["strip-program", "strip"], "s")],
  ["tcpdump", hasOption([], "z")],
  ["printf", hasOption([], "v")],
  ["tar", tarRunsOthers],
  ["bsdtar", tarRunsOthers],
  ["sed", (args) => !isPlainSed(args)],
  ...["awk", "gawk", "mawk", "nawk"].map(
    (name) => [name, (args: readonly string[]) => !isPlainAwk(args)] as const,
  ),
]);

/** The first word may be a bundle of letters without a dash. */
function tarRunsOthers(args: readonly string[]): boolean {
  const [first = "", ...rest] = args;
  const dashed = first.startsWith("-") ? first : `-${first}`;
  const long = [
    ...["to-command", "checkpoint-action", "use-compress-program", "info-script"],
    ...["new-volume-script", "rsh-command", "rmt-command"],
  ];
  return hasOption(long, "IF")([dashed, ...rest]);
}

/** Line numbers to print or delete, or one substitution without flags that run or write. */
function isPlainSed(args: readonly string[]): boolean {
  const [script, ...files] = args.filter((arg) => !/^-(?:n|E|r|u|s)$/.test(arg));
  if (script === undefined || files.some((file) => file.startsWith("-"))) return false;
  const lines = /^(?:\d+|\$)(?:,(?:\d+|\$))?[pdq]$/;
  const substitution = /^s\/[^/\\\n;{}]*\/[^/\\\n;{}]*\/[gip0-9]*$/;
  return lines.test(script) || substitution.test(script);
}

function isPlainAwk(args: readonly string[]): boolean {
  return args.every((arg) => {
    if (arg.startsWith("-")) return /^-F.*$/.test(arg);
    return !/system|getline|[|>@]/.test(arg);
  });
}

/**
 * Git runs programs that its settings, options and subcommands name. Harmless are known subcommands
 * without options that name a program or another repository's settings.
 */
function gitRunsOtherPrograms(args: readonly string[]): boolean {
  const first = args.findIndex((arg) => !harmlessFirst.has(arg));
  const command = args[first];
  // Without a command, git only shows its help or its version.
  if (command === undefined) return false;
  const options = args.slice(first + 1);
  if (command === "--version" || command === "version") return options.length > 0;
  if (command === "config") return !readsSettings(options);
  // The command is unknown: an alias, or a program somewhere called git-<command>.
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

/** The options that name a program, by their letter. */
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

/** Long options by any beginning, since programs accept those; short ones wherever they stand. */
function hasOption(long: readonly string[], short: string) {
  return (args: readonly string[]): boolean =>
    args.some((arg) => {
      if (arg.startsWith("--")) {
        const name = arg.slice(2).split("=", 1)[0] ?? "";
        return name !== "" && long.some((option) => option.startsWith(name));
      }
      return arg.startsWith("-") && [...arg.slice(1)].some((letter) => short.includes(letter));
    });
}
