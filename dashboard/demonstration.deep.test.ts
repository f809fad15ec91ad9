import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createSampleProject } from "../src/surfaces/cli/demonstration/sample-project.ts";
import { demoApplication, demoPlaybook } from "../src/surfaces/cli/open-runtime.ts";
import { openEngine, type TestEngine } from "../src/testing/engine-fixture.ts";
import { findBarriers, openPage, overflow, serve, shots } from "./browser.test-support.ts";
import { testBrowser } from "./test-browser.test-support.ts";

const opened = testBrowser();
const lmStudio = createServer((_, response) =>
  response.end(JSON.stringify({ data: [{ id: "text-embedding" }, { id: "qwen3-8b" }] })),
);

beforeAll(async () => {
  await new Promise<void>((resolve) => lmStudio.listen(0, "127.0.0.1", resolve));
  const { port } = lmStudio.address() as AddressInfo;
  vi.stubEnv("LMSTUDIO_BASE_URL", `127.0.0.1:${port}`);
  // What happens to be on the machine that the tests run on is no part of them.
  for (const name of ["OLLAMA_HOST", "LLAMACPP_BASE_URL", "VLLM_BASE_URL"]) {
    vi.stubEnv(name, "127.0.0.1:1");
  }
  for (const name of ["ANTHROPIC", "OPENAI", "GOOGLE_GENERATIVE_AI", "OPENROUTER"]) {
    vi.stubEnv(`${name}_API_KEY`, "");
  }
}, 120_000);

afterAll(async () => {
  lmStudio.close();
  vi.unstubAllEnvs();
});

/** What `npm start` shows; at its own pace where pictures of it are made. */
async function openDemonstration(): Promise<{ engine: TestEngine; folder: string }> {
  const engine = await openEngine({
    application: demoApplication,
    playbook: { file: demoPlaybook, speed: shots ? 1 : 20 },
    limits: { maxTokens: 1_000_000, maxOutputTokens: 1024, requestTries: 2 },
  });
  const folder = join(engine.workspace, "harbour");
  createSampleProject(folder);
  return { engine, folder };
}

const task = "Prepare release 1.1 of harbour, with release notes.";

it("shows the demonstration, says that a script answered, and how to have a model", async () => {
  const { engine: disposable, folder: workspace } = await openDemonstration();
  await using engine = disposable;
  const { runId, result } = await engine.start({
    task,
    workspace,
    profile: "general",
    maxTokens: 1_000_000,
  });
  const { link, server } = await serve(engine, opened.files);
  const { page, context, faults } = await openPage(opened.browser, link(`/runs/${runId}`));
  const notice = page.getByRole("region", { name: "Scripted model" });
  await notice.getByText("The scripted model answered").waitFor();
  await result;
  await page.getByText("run succeeded").first().waitFor();
  await page.getByText("harbour 1.1.0").first().waitFor();

  await notice.getByRole("button", { name: "Plug in a key or a local model" }).click();
  await notice.getByText("LM Studio answers on this machine:").waitFor();
  await notice.getByText("export MANDATE_MODEL=lmstudio/qwen3-8b").waitFor();
  await notice.getByText("export ANTHROPIC_API_KEY=…").waitFor();
  await notice.getByText("npm run -s mandate -- serve").waitFor();
  expect([await findBarriers(page), await overflow(page)]).toEqual([[], 0]);
  await notice.getByRole("button", { name: "Less" }).click();

  await page.goto(`${server.url}/runs`);
  await notice.getByText("export MANDATE_MODEL=lmstudio/qwen3-8b").waitFor();
  expect([await findBarriers(page), await overflow(page)]).toEqual([[], 0]);
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await page.reload();
  await page.getByRole("grid", { name: "Runs" }).getByText(task).waitFor();
  expect(await notice.count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
  if (shots) for (const scheme of ["light", "dark"] as const) await takePicture(scheme, shots);
  await server.close(100);

  /** The pictures of the README: `MANDATE_SCREENSHOTS=docs/pictures npm test -- dashboard/demonstration`. */
  async function takePicture(colorScheme: "light" | "dark", into: string): Promise<void> {
    mkdirSync(into, { recursive: true });
    const look = { colorScheme, viewport: { width: 1360, height: 760 } };
    const shown = await openPage(opened.browser, link(`/runs/${runId}`), look);
    await shown.page.getByRole("treegrid").getByText("Done").nth(4).waitFor();
    await shown.page.getByRole("heading", { name: "harbour 1.1.0" }).waitFor();
    await shown.page.getByRole("treegrid").getByText("1M").waitFor();
    await shown.page.getByText("Files changed (2)").waitFor();
    // The folder of a test is no folder of a reader.
    await shown.page.evaluate(
      `for (const one of document.querySelectorAll("main header bdi")) {
        if (one.textContent === ${JSON.stringify(workspace)}) one.textContent = "~/harbour";
      }`,
    );
    const name = colorScheme === "light" ? "run.png" : "run-dark.png";
    await shown.page.screenshot({ path: join(into, name) });
    await shown.context.close();
  }
}, 60_000);
