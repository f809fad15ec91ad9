import { rmSync } from "node:fs";
import { join } from "node:path";
import sparticuz from "@sparticuz/chromium";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { AccessTokens, installationToken } from "../src/control/access/access-tokens.ts";
import type { RunningServer } from "../src/surfaces/http/serve.ts";
import { serveRuntime } from "../src/surfaces/http/serve-runtime.ts";
import { type StaticFiles, staticFiles } from "../src/surfaces/http/static-files.ts";
import type { DeltaHub } from "../src/surfaces/http/streams/sse-deltas.ts";
import type { TestEngine } from "../src/testing/engine-fixture.ts";
import { askForShared } from "../src/testing/shared-by-files.test-support.ts";
import { preparePage } from "./prepare-page.test-support.ts";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const patienceMs = 45_000;

export interface TestBrowser extends AsyncDisposable {
  /** Where the built page lies. */
  readonly folder: string;
  readonly files: StaticFiles;
  readonly browser: Browser;
}

/** The page as it is built for people, and a browser. */
export async function openBrowser(): Promise<TestBrowser> {
  const shared = await askForShared("MANDATE_TEST_SHARED_PAGE");
  const folder = shared ?? (await preparePage());
  const executablePath = await sparticuz.executablePath();
  const browser = await chromium.launch({ executablePath, args: flags });
  return {
    folder,
    files: staticFiles(folder),
    browser,
    async [Symbol.asyncDispose]() {
      await browser.close();
      if (shared === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface TestServer {
  readonly server: RunningServer;
  /** An address that opens the page. */
  link(path?: string): string;
}

interface ServeOptions {
  readonly port?: number;
  /** Whose `hear` the engine has as its `onDelta`. */
  readonly deltas?: DeltaHub;
}

export async function serve(
  engine: TestEngine,
  files: StaticFiles,
  { deltas, port = 0 }: ServeOptions = {},
): Promise<TestServer> {
  const file = join(engine.home, "tokens", "local");
  const tokens = new AccessTokens(engine.store, file);
  const token = installationToken(file);
  const server = await serveRuntime({
    host: { runtime: engine, tokens, workspaces: [engine.workspace], startedAt: Date.now() },
    ...{ deltas, port },
    staticFiles: files,
    log: () => undefined,
  });
  return {
    server,
    link: (path = "/") => `${server.url}/#code=${server.pages.createCode(token, path).code}`,
  };
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Dialogs, violations of the policy, errors of scripts, and requests to anywhere else. */
  readonly faults: string[];
}

/** A page of which everything that must not happen is noticed. */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 800 }, ...options });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const faults: string[] = [];
  const { origin } = new URL(url);
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (/Content Security Policy|Trusted/i.test(text)) faults.push(`policy: ${text}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) {
      faults.push(`request: ${request.url()}`);
    }
  });
  await page.goto(url);
  return { page, context, faults };
}

/** Every violation that axe finds, in one line each. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  // Not as a script of the page: its policy would refuse that, as it should.
  if (!(await page.evaluate("'axe' in window"))) {
    await page.evaluate(
      `(() => { const module = undefined; const define = undefined; ${axe.source} })()`,
    );
  }
  const { violations } = (await page.evaluate(
    `window.axe.run(document, { resultTypes: ["violations"] })`,
  )) as axe.AxeResults;
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`,
  );
}

/** For `page.evaluate`: what was about to be laid out and painted is, afterwards. */
export const twoFrames =
  "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))";

/** How much wider the page is than its window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth");
}

/** Pictures for people, where they are asked for. */
export const shots = process.env["MANDATE_SCREENSHOTS"];
