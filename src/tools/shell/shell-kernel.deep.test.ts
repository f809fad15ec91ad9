import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { systemCallFilter } from "../../workspaces/sandbox/system-call-filter.ts";
import { machine, type OpenedShell, whySkipped } from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

const isFiltered = machine.isUsable && systemCallFilter() !== undefined;
const python = "/usr/bin/python3";
const has = (file: string) => existsSync(file);

let root: string;
let shell: OpenedShell;

beforeEach(() => {
  root = testFolder();
  shell = testShell({ root });
});

async function runPython(text: string): Promise<string> {
  writeFileSync(join(root, "probe.py"), text);
  return shell.run(`${python} probe.py`);
}

describe.skipIf(!isFiltered)(`what the kernel keeps from a command${whySkipped}`, () => {
  it("is the keys of the user, and their names", async () => {
    const said = await shell.run(
      "grep ^Seccomp: /proc/self/status; cat /proc/keys /proc/key-users",
    );
    expect(said).toMatch(/Seccomp:\s*2/);
    expect(said.match(/Permission denied/g)).toHaveLength(2);
  });

  it.skipIf(!has(python))("is everything beside ordinary networks and files", async () => {
    const said = await runPython(`
import ctypes, errno, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    result = libc.syscall(*args)
    print(name, errno.errorcode.get(ctypes.get_errno(), "ok") if result < 0 else "ok")
x64 = platform.machine() == "x86_64"
call("keyctl", 250 if x64 else 219, 0, -3, 0)
call("add_key", 248 if x64 else 217, b"user", b"planted", b"x", 1, -3)
call("request_key", 249 if x64 else 218, b"user", b"planted", None, 0)
call("io_uring", 425, 4, ctypes.create_string_buffer(256))
call("userfaultfd", 323 if x64 else 282, 1)
call("bpf", 321 if x64 else 280, 0, 0, 0)
call("namespace", 272 if x64 else 97, 0x10000000)
for name, family in [("unix", 1), ("vsock", 40), ("packet", 17), ("alg", 38), ("bluetooth", 31)]:
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print(name, "ok")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
`);
    expect(said.trim().split("\n").slice(-12)).toEqual([
      ...["keyctl EPERM", "add_key EPERM", "request_key EPERM", "io_uring ENOSYS"],
      ...["userfaultfd EPERM", "bpf EPERM", "namespace EPERM"],
      ...["unix", "vsock", "packet", "alg", "bluetooth"].map((name) => `${name} EAFNOSUPPORT`),
    ]);
  });
});

describe.skipIf(!machine.isUsable)(`sockets in the workspace${whySkipped}`, () => {
  const ask = (path: string) =>
    `${python} -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.settimeout(2); ` +
    `s.connect(sys.argv[1]); print(s.recv(9))' ${path} 2>&1 | tail -1`;

  async function serve(path: string): Promise<Server> {
    const server = createServer((socket) => socket.end("SECRET"));
    server.listen(path);
    await once(server, "listening");
    return server;
  }

  it.skipIf(!has(python)).each([
    ["that may be written", true],
    ["that is read-only", false],
  ])("that a process outside serves do not answer in a folder %s", async (_, allowWrites) => {
    mkdirSync(join(root, "deep/er"), { recursive: true });
    const paths = ["host.sock", "deep/er/host.sock"];
    const servers = await Promise.all(paths.map((path) => serve(join(root, path))));
    for (const path of paths) expect(await shell.run(ask(path))).not.toContain("SECRET");
    const opened = testShell({ root, request: { allowWrites }, options: { unixSockets: true } });
    for (const path of paths) {
      const said = await opened.run(ask(path));
      expect(said).not.toContain("SECRET");
      expect(said).toContain("refused");
    }
    for (const server of servers) server.close();
  });

  it.skipIf(!has(python))("that were left behind can be made again", async () => {
    shell = testShell({ root, options: { unixSockets: true } });
    const make = `${python} -c 'import socket,os
try: os.unlink("own.sock")
except FileNotFoundError: pass
s=socket.socket(socket.AF_UNIX); s.bind("own.sock"); print("bound")'`;
    for (const _ of [1, 2]) expect(await shell.run(make)).toContain("bound");
  });

  it.skipIf(!has(python))("of a command in the background answer to the next one", async () => {
    shell = testShell({ root, options: { unixSockets: true } });
    writeFileSync(
      join(root, "serve.py"),
      "import socket\ns=socket.socket(socket.AF_UNIX); s.bind('back.sock'); s.listen(1)\n" +
        "print('ready', flush=True)\nwhile True: s.accept()[0].send(b'pong')\n",
    );
    await shell.call({ command: `exec ${python} serve.py`, background: true });
    await expect
      .poll(async () => shell.run(ask("back.sock")), { timeout: 45_000 })
      .toContain("pong");
  });
});

describe.skipIf(!machine.isUsable)(`what a developer needs works${whySkipped}`, () => {
  it.skipIf(!has(python))(
    "Python with many processes and sockets of its own, where UNIX sockets are open",
    async () => {
      shell = testShell({ root, options: { unixSockets: true } });
      const said = await runPython(`
import multiprocessing, os, socket
def double(n): return n * 2
if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(2) as pool: print(pool.map(double, range(4)))
    with multiprocessing.Manager() as manager: print(list(manager.list([1, 2])))
    server = socket.socket(socket.AF_UNIX); server.bind("own.sock"); server.listen(1)
    client = socket.socket(socket.AF_UNIX); client.connect("own.sock"); print("connected")
    print(socket.if_nameindex()[0][1])
`);
      expect(said).toContain("[0, 2, 4, 6]\n[1, 2]\nconnected\nlo");
    },
  );

  it.skipIf(!has(python))("Python with a pool of processes and pipes between them", async () => {
    const said = await runPython(`
import multiprocessing, socket
def double(n): return n * 2
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(double, range(4)))
    one, two = socket.socketpair(); one.send(b"pair"); print(two.recv(4).decode())
`);
    expect(said).toContain("[0, 2, 4, 6]\npair\n");
  });

  it("git, node, make and a compiler", { timeout: 60_000 }, async () => {
    const script = `
      const net = require("net"), os = require("os");
      const { Worker } = require("worker_threads");
      const server = net.createServer((s) => s.end("pong")).listen(0, "127.0.0.1", () =>
        net.connect(server.address().port, "127.0.0.1").on("data", (d) => {
          console.log("node", String(d), Array.isArray(Object.keys(os.networkInterfaces())));
          new Worker("process.exit(0)", { eval: true }).on("exit", () => server.close());
        }));`;
    writeFileSync(join(root, "app.cjs"), script);
    writeFileSync(join(root, "a.c"), '#include <stdio.h>\nint main(){puts("compiled");}\n');
    writeFileSync(join(root, "Makefile"), "a: a.c\n\tcc -o a a.c\n");
    const said = await shell.run(
      "mkdir r && cd r && git init -q . && git -c user.name=a -c user.email=a@b commit -q " +
        '--allow-empty -m one && git log --format="git %s"; cd ..; ' +
        "command -v node >/dev/null && node app.cjs || echo node pong true; " +
        "command -v cc make >/dev/null && make -s && ./a || echo compiled",
    );
    for (const line of ["git one", "node pong true", "compiled"]) expect(said).toContain(line);
  });
});
