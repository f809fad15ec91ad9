import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadTrustedConfig } from "../../../control/load-trusted-config.test-support.ts";
import { Desk } from "../desk.test-support.ts";
import { configText } from "./set-up-project.ts";

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

/** No keys of the machine that the tests run on. */
const environment = () => ({ HOME: desk.home, MANDATE_HOME: desk.home, PATH: "" });
const load = () => loadTrustedConfig({ cwd: desk.folder, environment: environment() });

describe("init", () => {
  test("asks three questions, and what it writes is read as it was meant", async () => {
    const answers = ["nonsense", "anthropic/some-model", "maybe", "no", "many", "250,000"];
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answers.shift() ?? "";
    };
    const { code, out } = await desk.type(["init"], { environment: environment(), ask });
    expect(code).toBe(0);
    expect(asked).toHaveLength(6);
    expect(out).toContain("neither a number of the list nor provider/model");
    expect(out).toContain("neither yes nor no");
    expect(out).toContain(`Written: ${join(desk.folder, "mandate.yaml")}`);
    const { integration, limits, models } = await load();
    expect(models.default).toBe("anthropic/some-model");
    expect(integration.approval).toBe(false);
    expect(limits.runTokens).toBe(250_000);
  });

  test("takes what it offers for an empty answer, and says what to do without a model", async () => {
    const ask = async () => "";
    const { out } = await desk.type(["init"], { environment: environment(), ask });
    expect(out).toContain("There is no key and no local model server here");
    expect(out).toContain("doctor says how to give it a model");
    const { integration, limits, models } = await load();
    expect([models.default, integration.approval, limits.runTokens]).toEqual([
      undefined,
      true,
      1_000_000,
    ]);
  });

  test("replaces nothing, and writes nothing where nobody can be asked", async () => {
    const shown = await desk.type(["init"], { environment: environment() });
    expect(shown.out).toContain("approval: true");
    expect(shown.err).toContain("--yes writes this");
    expect(existsSync(join(desk.folder, "mandate.yaml"))).toBe(false);
    expect((await desk.type(["init", "--yes"], { environment: environment() })).code).toBe(0);
    const written = readFileSync(join(desk.folder, "mandate.yaml"), "utf8");
    const again = await desk.type(["init", "--yes"], { environment: environment() });
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("already")]);
    expect(readFileSync(join(desk.folder, "mandate.yaml"), "utf8")).toBe(written);
  });

  test("writes nothing through a link that a repository brought", async () => {
    const elsewhere = join(desk.home, "elsewhere.yaml");
    symlinkSync(elsewhere, join(desk.folder, "mandate.yaml"));
    const { code, err } = await desk.type(["init", "--yes"], { environment: environment() });
    expect([code, err]).toEqual([2, expect.stringContaining("already")]);
    expect(existsSync(elsewhere)).toBe(false);
  });

  test("offers the model that a key stands for", async () => {
    const ask = async () => "";
    const keyed = { ...environment(), ANTHROPIC_API_KEY: "not-a-key" };
    await desk.type(["init"], { environment: keyed, ask });
    expect((await load()).models.default).toMatch(/^anthropic\//);
  });
});

test("a model's name is a text, whatever stands in it", async () => {
  for (const model of ["ollama/qwen3:8b", "a/b:", "a/b#c", "a/[b]", "a/b,c"]) {
    desk.write("mandate.yaml", configText({ model, approval: true, runTokens: 1 }));
    expect((await load()).models.default).toBe(model);
  }
});
