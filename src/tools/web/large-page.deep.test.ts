import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "./web-server.test-support.ts";

const megabyte = 1024 * 1024;
const large = 100 * megabyte;

/**
 * Fetches a page in a process that does nothing else, and measures that meanwhile. Before, some that
 * are a little too large as well, so that what is kept of a page is there already.
 */
function client(port: number, path: string): string {
  const support = JSON.stringify(join(import.meta.dirname, "web-server.test-support.ts"));
  return `
    import { fetchPage } from ${support};
    const get = (path) => fetchPage(
      { url: "http://127.0.0.1:${port}" + path },
      { allowPrivate: ["127.0.0.1:${port}"] },
    );
    for (let round = 0; round < 4; round += 1) await get("/small" + ${JSON.stringify(path)});
    const before = process.memoryUsage().rss;
    let most = before;
    const timer = setInterval(() => { most = Math.max(most, process.memoryUsage().rss); }, 1);
    const { text } = await get(${JSON.stringify(path)});
    clearInterval(timer);
    most = Math.max(most, process.memoryUsage().rss);
    console.log(JSON.stringify({ growth: most - before, length: text.length, text: text.slice(0, 300) }));
    process.exit(0);`;
}

test.each(["text/plain", "text/html", "application/json", "application/xml"])(
  "a page of 100 MB as %s leaves memory as it is, but for what is kept of it",
  async (type) => {
    const row = Buffer.from(`<p>${"a word ".repeat(20)}</p>\n`.repeat(400)).subarray(0, 65_536);
    let sent = 0;
    const site = await serve(({ url = "" }, response) => {
      response.writeHead(200, { "content-type": type });
      const end = url.startsWith("/small") ? 6 * megabyte : large;
      const write = (rest: number): void => {
        if (response.destroyed || rest <= 0) return void response.end();
        sent += row.length;
        if (response.write(row)) setImmediate(write, rest - row.length);
        else response.once("drain", () => write(rest - row.length));
      };
      write(end);
    });
    onTestFinished(() => site.close());
    const script = client(site.port, `/${type}`);
    const words = ["--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, words);
    const { growth, length, text } = JSON.parse(stdout) as Measured;
    expect(text).toContain("truncated");
    expect(length).toBeLessThan(25_000);
    // The connection is closed at the cap: what was never sent costs nobody anything.
    expect(sent).toBeLessThan(large);
    expect(growth).toBeLessThan(20 * megabyte);
  },
  60_000,
);

interface Measured {
  readonly growth: number;
  readonly length: number;
  readonly text: string;
}
