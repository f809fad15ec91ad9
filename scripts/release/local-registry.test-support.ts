import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { productionTree } from "./production-tree.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
}

export interface LocalRegistry extends AsyncDisposable {
  readonly url: string;
}

/**
 * A package registry on this machine. It has every dependency of ours as it is installed here, and takes
 * what is published. It needs no network.
 */
export async function openLocalRegistry(root: string): Promise<LocalRegistry> {
  const folders = new Map<string, string>();
  const tarballs = new Map<string, Buffer>();
  const manifests: Manifest[] = [];
  for (const { path } of productionTree(root)) {
    const folder = join(root, path);
    const manifest = readManifest(folder);
    // An optional peer of a dependency is in the lockfile, and may not be installed.
    if (manifest === undefined) continue;
    manifests.push(manifest);
    folders.set(fileOf(manifest), folder);
  }
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://local").pathname).slice(1);
    const reply = (status: number, body: Buffer | object): void => {
      response.writeHead(status).end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    };
    if (request.method === "PUT") {
      const { _attachments: attachments, versions } = JSON.parse(await textOf(request));
      manifests.push(...(Object.values(versions) as Manifest[]));
      for (const [name, { data }] of Object.entries<{ data: string }>(attachments)) {
        tarballs.set(name, Buffer.from(data, "base64"));
      }
      return reply(201, { ok: true });
    }
    if (path.endsWith(".tgz")) {
      const file = path.slice(path.indexOf("/-/") + "/-/".length);
      const folder = folders.get(file);
      const tarball =
        tarballs.get(basename(file)) ?? (folder === undefined ? undefined : pack(folder));
      return tarball === undefined ? reply(404, {}) : reply(200, tarball);
    }
    const found = manifests.filter(({ name }) => name === path);
    const latest = found.at(-1);
    if (latest === undefined) return reply(404, {});
    const versions = found.map((manifest) => {
      const tarball = `${url}/${manifest.name}/-/${fileOf(manifest)}`;
      return [manifest.version, { ...manifest, dist: { tarball } }] as const;
    });
    reply(200, {
      name: path,
      "dist-tags": { latest: latest.version },
      versions: Object.fromEntries(versions),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readManifest(folder: string): Manifest | undefined {
  try {
    const { scripts: _, ...manifest } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    return manifest;
  } catch {
    return undefined;
  }
}

function fileOf({ name, version }: Manifest): string {
  return `${name}-${version}.tgz`;
}

/** Without the packages that npm put below it. */
function pack(folder: string): Buffer {
  const words = ["-cz", "--exclude=./node_modules", "--transform=s,^\\.,package,", "."];
  return spawnSync("tar", words, { cwd: folder, maxBuffer: 2 ** 27 }).stdout;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
