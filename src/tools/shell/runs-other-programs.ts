import { gitRunsOtherPrograms } from "./git-runs-other-programs.ts";
import { hasOption } from "./has-option.ts";

/**
 * Whether a command may run something else than its name says, so that the name is no ground to
 * allow it. Programs whose whole use is to run other people's code by its own name (node, make,
 * npm) are not meant: allowing those allows that.
 */
export function runsOtherPrograms(name: string, args: readonly string[]): boolean {
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
