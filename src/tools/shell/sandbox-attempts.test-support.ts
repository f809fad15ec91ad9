/** Attempts to get out of the sandbox: each is a program that prints what it reached after "ESCAPED". */
export interface Attempt {
  readonly name: string;
  readonly command: string;
}

/** What attempts aim at, outside of the sandbox. */
export interface Targets {
  /** The folder that holds the workspace and the secrets beside it. */
  readonly base: string;
  readonly victim: number;
  readonly tcp: number;
  readonly granted: number;
  readonly abstract: string;
  /** Part of the command line of everything that is meant to survive. */
  readonly marker: string;
}

/** Tries a statement; an error is a failed attempt. */
function python(...statements: readonly string[]): string {
  const body = statements.map((each) => each.replaceAll("\n", "\n  ")).join("\n  ");
  const text = `${preamble}\ntry:\n  ${body}\nexcept Exception as error:\n  print("held:", error)`;
  return `cat > /tmp/attempt.py <<'PYTHON'\n${text}\nPYTHON\ntimeout 20 /usr/bin/python3 /tmp/attempt.py`;
}

const preamble = `
import ctypes, errno, glob, os, platform, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
x64 = platform.machine() == "x86_64"
def call(x, a, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(x if x64 else a), *args)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def escaped(what): print("ESCAPED", what)
def proxy(text, *more, until=b"\\r\\n\\r\\n"):
    s = socket.create_connection(("127.0.0.1", 3128), 5); s.settimeout(5); s.sendall(text.encode("latin1"))
    said = b""
    try:
        for part in (b"",) + more:
            if part: s.sendall(part)
            while True:
                chunk = s.recv(65536)
                if not chunk: break
                said += chunk
                if until in said: break
    except OSError: pass
    return said.decode("latin1")
def expect_refused(said):
    if " 200 " in said.split("\\r\\n")[0] and "SECRET" in said: escaped(said)
    print(said[:200])
`;

export function attemptsOn(at: Targets): readonly Attempt[] {
  const { base } = at;
  const secret = `${base}/outside/secret.txt`;
  const shell = (name: string, command: string): Attempt => ({ name, command });
  const code = (name: string, ...statements: readonly string[]): Attempt => ({
    name,
    command: python(...statements),
  });
  const viaProxy = (name: string, text: string, ...more: readonly string[]): Attempt =>
    code(name, `expect_refused(proxy(${[JSON.stringify(text), ...more].join(", ")}))`);
  const get = (host: string, more = "") => `GET http://${host}/secret HTTP/1.1\r\n${more}`;
  const granted = `granted.test:${at.granted}`;
  return [
    shell("a file beside the workspace", `cat ../outside/secret.txt ${secret}`),
    shell(
      "the root of other processes",
      `cat /proc/self/root${secret} /proc/1/root${secret} /proc/*/cwd${secret}`,
    ),
    shell("a link to a file outside", `ln -s ${secret} link; cat link; echo planted > link`),
    shell("a hard link to a file outside", `ln ${secret} hard; cat hard`),
    shell("writing beside the workspace", `touch ${base}/planted ${base}/outside/planted`),
    shell("removing what is beside the workspace", `rm -rf ${base}/outside ${base}/.ssh`),
    shell("the home of the person", `cat ${base}/.ssh/id_ed25519; echo evil >> ${base}/.bashrc`),
    shell("Mandate's own data", `cat ${base}/home/mandate.db ${base}/home/*; ls ${base}/home`),
    shell("password hashes", "cat /etc/shadow /etc/sudoers && echo ESCAPED"),
    shell(
      "programs of the system",
      "for f in /usr/bin /etc /opt; do touch $f/planted && echo ESCAPED; done",
    ),
    shell(
      "git hooks and agents' settings",
      "mkdir -p .git/hooks .claude; echo evil > .git/hooks/pre-commit; echo '{}' > .claude/settings.json; ls .git/hooks/pre-commit && echo still-there",
    ),
    shell(
      "keys in environments",
      "env; cat /proc/*/environ | tr '\\0' '\\n' | grep -a canary && echo ESCAPED",
    ),
    code("reading the keyring", "call(250, 219, 0, -3, 0); escaped('keyctl')"),
    code("adding a key", "call(248, 217, b'user', b'planted', b'x', 1, -4); escaped('add_key')"),
    code(
      "requesting a key",
      "call(249, 218, b'user', b'planted', None, 0); escaped('request_key')",
    ),
    shell("the list of keys", "cat /proc/keys /proc/key-users && echo ESCAPED"),
    code(
      "a UNIX socket in the workspace",
      "s = socket.socket(socket.AF_UNIX); s.connect('host.sock'); escaped(s.recv(9))",
    ),
    code(
      "a datagram to a UNIX socket",
      "for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):",
      "    try:",
      "        one, two = socket.socketpair(socket.AF_UNIX, kind); one.sendto(b'planted', 'host.sock'); escaped(kind)",
      "    except OSError as error: print('held:', error)",
    ),
    code(
      "a stream pair that is connected again",
      "one, two = socket.socketpair(); two.close(); one.connect('host.sock'); escaped(one.recv(9))",
    ),
    code(
      "an abstract socket",
      `s = socket.socket(socket.AF_UNIX); s.connect(${JSON.stringify(`\0${at.abstract}`)}); escaped(s.recv(9))`,
    ),
    code(
      "other families of sockets",
      "for family in (3, 4, 5, 9, 16, 17, 21, 29, 30, 31, 36, 38, 39, 40, 41, 42, 43, 44, 45):",
      "    for kind in (1, 2, 3, 5):",
      "        try: socket.socket(family, kind, 16 if family == 16 else 0); escaped(family)",
      "        except OSError: pass",
    ),
    code(
      "raw and rare protocols",
      "for kind, protocol in ((3, 1), (3, 255), (1, 132), (5, 132), (2, 136), (1, 256), (6, 33)):",
      "    try: socket.socket(socket.AF_INET, kind, protocol); escaped(protocol)",
      "    except OSError: pass",
    ),
    code(
      "the loopback of the machine",
      `s = socket.create_connection(("127.0.0.1", ${at.tcp}), 3); escaped(s.recv(9))`,
    ),
    code(
      "the network of the machine",
      "s = socket.create_connection(('8.8.8.8', 53), 3); escaped('tcp')",
    ),
    code(
      "names by DNS",
      "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b'x' * 12, ('8.8.8.8', 53)); escaped(s.recv(9))",
    ),
    code("io_uring", "call(425, 425, 4, ctypes.create_string_buffer(256)); escaped('io_uring')"),
    code(
      "userfaultfd, bpf, perf",

      "for x, a, args in ((323, 282, (1,)), (321, 280, (0, 0, 0)), (298, 241, (0, 0, -1, -1, 0)), (300, 262, (0, 0))):",
      "    try: call(x, a, *args); escaped(x)",
      "    except OSError: pass",
    ),
    shell(
      "a signal to a process outside",
      `kill -9 ${at.victim} && echo ESCAPED; kill -9 -${at.victim} && echo ESCAPED`,
    ),
    shell("signals to everything", "sh -c 'kill -9 -1'; echo ended"),
    code("ptrace", "call(101, 117, 16, os.getppid(), 0, 0); escaped('ptrace')"),
    code(
      "memory of another process",
      "call(310, 270, os.getppid(), 0, 0, 0, 0, 0); escaped('process_vm_readv')",
    ),
    code(
      "descriptors of another process",
      "fd = call(434, 434, os.getppid(), 0); call(438, 438, fd, 0, 0); escaped('pidfd_getfd')",
    ),
    code(
      "inherited descriptors",
      "for fd in os.listdir('/proc/self/fd'):",
      "    if int(fd) > 3: print(fd, os.readlink('/proc/self/fd/' + fd)); os.write(int(fd), b'planted'); escaped(fd)",
    ),
    code(
      "other namespaces",
      "fd = os.open('/proc/1/ns/net', os.O_RDONLY); call(308, 268, fd, 0); escaped('setns')",
    ),
    shell(
      "settings of the kernel",
      "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger /sys/kernel/uevent_helper; do echo '|/tmp/evil' > $f && echo ESCAPED; done",
    ),
    shell(
      "control groups",
      "mkdir /sys/fs/cgroup/evil && echo ESCAPED; find / -name release_agent -o -name cgroup.procs 2>/dev/null | grep . && echo ESCAPED",
    ),
    shell(
      "mounts",
      "mount -t tmpfs none /mnt && echo ESCAPED; mount --bind / /tmp && echo ESCAPED; mount -o remount,rw / && echo ESCAPED; umount /proc && echo ESCAPED",
    ),
    code(
      "the new calls for mounts",

      "for x in (428, 429, 430, 442):",
      "    try: call(x, x, -100, b'/', 0, 0, 0); escaped(x)",
      "    except OSError: pass",
    ),
    shell("a user namespace", "unshare -Ur true && echo ESCAPED; unshare -n true && echo ESCAPED"),
    code(
      "a user namespace by clone",

      "for x, a, args in ((56, 220, (0x10000011, 0, 0, 0, 0)), (435, 435, (ctypes.create_string_buffer(88), 88))):",
      "    try:",
      "        if call(x, a, *args) == 0: os._exit(0)",
      "        escaped(x)",
      "    except OSError: pass",
    ),
    shell(
      "devices",
      "mknod disk b 8 0 && echo ESCAPED; ls /dev | grep -E '^(sd|vd|kvm|mem|kmsg|fuse)' && echo ESCAPED",
    ),
    shell(
      "more rights",
      "cp /bin/sh suid && chmod 4755 suid && ./suid -p -c 'cat /etc/shadow' && echo ESCAPED; sudo -n true && echo ESCAPED; grep -E 'CapEff:.*[1-9a-f]' /proc/self/status && echo ESCAPED",
    ),
    code(
      "typing into a terminal",
      "import fcntl",
      "fcntl.ioctl(0, 0x5412, b'x'); escaped('TIOCSTI')",
    ),
    shell(
      "a daemon",
      `(setsid sh -c ": ${at.marker}; trap '' TERM HUP INT; (while :; do date +%s%N > beat; sleep 0.05; done) &" </dev/null >/dev/null 2>&1 &); while [ ! -e beat ]; do sleep 0.02; done`,
    ),
    shell(
      "a fork bomb",
      `i=0; while [ $i -lt 3000 ]; do sh -c ": ${at.marker}; sleep 300" & i=$((i+1)); done; echo "ESCAPED all"; wait`,
    ),
    code(
      "a memory bomb",
      `marker = ${JSON.stringify(at.marker)}`,
      "kept = []",
      "while len(kept) < 2000: kept.append(b'x' * 8_000_000)",
      "escaped(len(kept))",
    ),
    code(
      "a memory bomb of many processes",
      `marker = ${JSON.stringify(at.marker)}`,
      "for _ in range(40): os.fork() or (setattr(sys, 'kept', b'x' * 40_000_000), signal.pause())",
      "signal.pause()",
    ),
    viaProxy("a host that is not granted", get("evil.test", "Host: evil.test\r\n\r\n")),
    viaProxy(
      "a private address by its number",
      get(`127.0.0.1:${at.tcp}`, `Host: 127.0.0.1:${at.tcp}\r\n\r\n`),
    ),
    viaProxy(
      "CONNECT to an address",
      `CONNECT 127.0.0.1:${at.tcp} HTTP/1.1\r\n\r\n`,
      'b"GET / HTTP/1.1\\r\\n\\r\\n"',
    ),
    viaProxy(
      "CONNECT to another port of a granted host",
      `CONNECT granted.test:${at.tcp} HTTP/1.1\r\n\r\n`,
      'b"GET / HTTP/1.1\\r\\n\\r\\n"',
    ),
    viaProxy(
      "a granted name with a private address",
      get("flip.test:8080", "Host: flip.test:8080\r\n\r\n"),
    ),
    viaProxy(
      "a granted name with a public and a private address",
      get("mixed.test:8080", "Host: mixed.test:8080\r\n\r\n"),
    ),
    viaProxy("a Host header of another site", get(granted, "Host: hidden.test\r\n\r\n")),
    viaProxy("two Host headers", get(granted, `Host: ${granted}\r\nHost: hidden.test\r\n\r\n`)),
    viaProxy(
      "a Host header of another site in a tunnel",
      `CONNECT ${granted} HTTP/1.1\r\n\r\n`,
      'b"GET /secret HTTP/1.1\\r\\nHost: hidden.test\\r\\n\\r\\n"',
    ),
    viaProxy(
      "an absolute address in a tunnel",
      `CONNECT ${granted} HTTP/1.1\r\n\r\n`,
      `b"GET http://127.0.0.1:${at.tcp}/secret HTTP/1.1\\r\\nHost: ${granted}\\r\\n\\r\\n"`,
    ),
    viaProxy(
      "a name before the host",
      get(`granted.test:${at.granted}@127.0.0.1:${at.tcp}`, `Host: ${granted}\r\n\r\n`),
    ),
    viaProxy(
      "a backslash in the host",
      get(`127.0.0.1:${at.tcp}\\@${granted}`, `Host: ${granted}\r\n\r\n`),
    ),
    viaProxy(
      "two lengths of one request",
      `POST http://${granted}/ HTTP/1.1\r\nHost: ${granted}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://127.0.0.1:${at.tcp}/secret HTTP/1.1\r\nHost: x\r\n\r\n`,
    ),
    viaProxy("another scheme", "GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"),
    code(
      "TLS that asks for another site",
      "import ssl",
      `s = socket.create_connection(("127.0.0.1", 3128), 5); s.sendall(b"CONNECT ${granted} HTTP/1.1\\r\\n\\r\\n"); s.recv(999)`,
      "c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE",
      "c.wrap_socket(s, server_hostname='hidden.test'); escaped('sni')",
    ),
    code(
      "the socket of the relay",
      "for path in glob.glob('/proc/[0-9]*/fd/*'):",
      "    try:",
      "        if 'socket' in os.readlink(path): os.write(os.open(path, os.O_RDWR), b'planted'); escaped(path)",
      "    except OSError: pass",
    ),
  ];
}
