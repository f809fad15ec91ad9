import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { makeCertificate } from "../web/make-certificate.test-support.ts";
import { machine, type OpenedShell, whySkipped } from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = testFolder();
  root = join(base, "work");
  mkdirSync(root);
});

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A shell whose contract grants one host, which the name leads to. */
function openFor(port: number): OpenedShell {
  const granted = `granted.test:${port}`;
  const lookup = async () => [{ address: "127.0.0.1", family: 4 as const }];
  return testShell({
    root,
    options: { network: true, lookup, allowPrivate: [granted] },
    context: { network: [granted] },
  });
}

/** The files of a folder, as a web server gives them. */
function filesOf(folder: string): Server {
  return createServer((asked, answer) => {
    try {
      answer.end(readFileSync(join(folder, decodeURIComponent(asked.url?.split("?")[0] ?? ""))));
    } catch {
      answer.writeHead(404).end();
    }
  });
}

/** A registry with one package. */
function registryWith(tarball: Buffer): Server {
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  return createServer((asked, answer) => {
    if (asked.url?.endsWith(".tgz")) {
      answer.end(tarball);
      return;
    }
    const tarballUrl = `http://${asked.headers.host}/harbour-1.0.0.tgz`;
    const version = { name: "harbour", version: "1.0.0", dist: { integrity, tarball: tarballUrl } };
    const packument = {
      name: "harbour",
      "dist-tags": { latest: "1.0.0" },
      versions: { "1.0.0": version },
    };
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify(packument));
  });
}

describe.skipIf(!machine.isUsable)(`ordinary work in the sandbox${whySkipped}`, () => {
  it("clones from a granted host and fetches from it", { timeout: 60_000 }, async () => {
    const origin = join(base, "origin");
    const git = (...args: string[]) =>
      execFileSync("git", [
        "-C",
        origin,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.example",
        ...args,
      ]);
    mkdirSync(origin);
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(join(origin, "a.txt"), "first\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "first");
    git("update-server-info");
    const port = await listen(filesOf(join(origin, ".git")));
    const shell = openFor(port);
    const cloned = await shell.run(
      `cd /tmp && git clone -q http://granted.test:${port}/ c && cat c/a.txt`,
    );
    expect(cloned).toContain("first\n");
    git("commit", "--quiet", "--allow-empty", "-m", "second");
    git("update-server-info");
    expect(
      await shell.run("cd /tmp/c && git fetch -q && git log origin/main --format=%s"),
    ).toContain("second\nfirst");
  });

  it("installs a package from a granted registry", { timeout: 60_000 }, async () => {
    const made = join(base, "package");
    mkdirSync(made);
    writeFileSync(join(made, "package.json"), '{"name":"harbour","version":"1.0.0","main":"i.js"}');
    writeFileSync(join(made, "i.js"), 'module.exports = "installed";');
    execFileSync("tar", ["-C", base, "-czf", join(base, "harbour.tgz"), "package"]);
    const port = await listen(registryWith(readFileSync(join(base, "harbour.tgz"))));
    writeFileSync(join(root, "package.json"), '{"name":"work","version":"1.0.0"}');
    const { text, connections } = await openFor(port).call({
      command:
        `npm install --no-audit --no-fund --registry http://granted.test:${port}/ harbour && ` +
        "node -p \"require('harbour')\"",
    });
    expect(text).toContain("Exit code 0.");
    expect(text).toContain("installed");
    expect(connections).toContainEqual({
      host: `granted.test:${port}`,
      times: expect.any(Number),
    });
  });

  it("reaches a granted host by curl and python, plain and in TLS, and no other", async () => {
    const { cert, key } = makeCertificate("granted.test");
    const secure = createSecureServer({ cert, key }, (_asked, answer) => answer.end("secure\n"));
    const port = await listen(secure);
    const said = await openFor(port).call({
      command: `curl -sk https://granted.test:${port}/; curl -sk https://other.test/; python3 -c '
import ssl, urllib.request
context = ssl._create_unverified_context()
print(urllib.request.urlopen("https://granted.test:${port}/", context=context).read().decode())'`,
    });
    expect(said.text.match(/secure/g)).toHaveLength(2);
    expect(said.text).toContain("Not reached: other.test:443 (host_not_granted).");
    expect(said.connections).toEqual([
      { host: `granted.test:${port}`, times: 2 },
      { host: "other.test:443", refused: "host_not_granted", times: 1 },
    ]);
  });

  it("sends a large body up and down without loss", { timeout: 60_000 }, async () => {
    const plain = createServer((asked, answer) => asked.pipe(answer));
    const port = await listen(plain);
    const said = await openFor(port).run(
      "head -c 20000000 /dev/urandom > /tmp/up && " +
        `curl -s --data-binary @/tmp/up http://granted.test:${port}/ > /tmp/down && ` +
        "cmp /tmp/up /tmp/down && echo same",
    );
    expect(said).toContain("same");
  });
});
