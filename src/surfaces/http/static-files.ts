import { existsSync, globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";

export type StaticFiles = (request: Request) => Promise<Response | undefined>;

/** The dashboard loads only from this server, and executes only its script files. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly zipped: Uint8Array<ArrayBuffer> | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The folder of the built dashboard, seen from the package or from the sources; undefined: not
 * built.
 */
export function findDashboard(): string | undefined {
  const here = import.meta.dirname;
  return [join(here, "../../dashboard"), join(here, "../../../dist/dashboard")].find((folder) =>
    existsSync(join(folder, "index.html")),
  );
}

/**
 * Serves the files of a folder from memory: a request is looked up in a table and never becomes a
 * path. Every path of a page gets index.html, whose script routes it.
 */
export function staticFiles(folder: string): StaticFiles {
  let files: ReadonlyMap<string, StaticFile> | undefined;
  return async (request) => {
    files ??= readFiles(folder);
    const { pathname } = new URL(request.url);
    const own = files.get(pathname);
    const isFound = own !== undefined || isPage(pathname);
    // A person who follows a wrong address gets the page, which says so; a program gets the problem.
    const file =
      own ?? (isFound || isOpenedByPerson(request) ? files.get("/index.html") : undefined);
    if (file === undefined) return undefined;
    const accepted = request.headers.get("accept-encoding") ?? "";
    const isZipped = file.zipped !== undefined && /(^|[ ,])gzip *($|[,;])(?! *q=0)/.test(accepted);
    return new Response(isZipped ? file.zipped : file.bytes, {
      status: isFound ? 200 : 404,
      headers: { ...file.headers, ...(isZipped && { "content-encoding": "gzip" }) },
    });
  };
}

/** The paths that the dashboard's router knows: any other path must not look like a success. */
const pagePath = new RegExp(
  `^/(?:${["overview", "runs(?:/[^/]+)?", "delegations/[^/]+", "inbox", "agents", "sessions", "costs", "system"].join("|")})?/?$`,
);

function isOpenedByPerson({ headers }: Request): boolean {
  return (headers.get("accept") ?? "").includes("text/html");
}

function isPage(pathname: string): boolean {
  return pagePath.test(pathname) && !/\.\w+$/.test(pathname);
}

function readFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const name of globSync("**/*.*", { cwd: folder })) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const bytes = new Uint8Array(readFileSync(join(folder, name)));
    const isText = type.startsWith("text/") || extname(name) === ".svg";
    const path = `/${name.replaceAll("\\", "/")}`;
    files.set(path, {
      bytes,
      zipped: isText ? new Uint8Array(gzipSync(bytes)) : undefined,
      headers: {
        "content-type": type,
        "content-security-policy": pagePolicy,
        "cross-origin-opener-policy": "same-origin",
        // A browser that looks up the host of a link before the click tells its server that it was shown.
        "x-dns-prefetch-control": "off",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        vary: "accept-encoding",
        // Asset names contain a hash of their content; index.html names the current ones.
        "cache-control": path.startsWith("/assets/")
          ? "public, max-age=31536000, immutable"
          : "no-store",
      },
    });
  }
  return files;
}
