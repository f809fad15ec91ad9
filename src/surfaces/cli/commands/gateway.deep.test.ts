import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environmentFor, MockProvider } from "../../../testing/mock-provider.test-support.ts";
import { until } from "../../../testing/until.ts";
import { Desk } from "../desk.test-support.ts";

const provider = new MockProvider();
beforeAll(() => provider.start());
afterAll(() => provider.close());

const entry = join(import.meta.dirname, "..", "..", "..", "mandate.ts");

/** Asks, leaves another process behind, and waits for an answer that never comes. */
const waiting = `
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
const left = spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"], { detached: true, stdio: "ignore" });
left.unref();
writeFileSync(process.argv[2], JSON.stringify([process.pid, left.pid]));
const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL } = process.env;
await fetch(ANTHROPIC_BASE_URL + "/v1/messages", {
  method: "POST",
  headers: { "content-type": "application/json", "x-api-key": ANTHROPIC_API_KEY },
  body: JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 300, stream: true, messages: [] }),
}).then((answer) => answer.text());
`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

describe.skipIf(process.platform !== "linux")("mandate gateway in a process of its own", () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`leaves nothing running, and no request open, after ${signal}`, async () => {
      const desk = new Desk();
      const asked = provider.billed.length;
      provider.pause = new Promise(() => undefined);
      const script = desk.write("waiting.mjs", waiting);
      const pids = desk.write("pids.json", "");
      const { HOME = desk.home, PATH = "" } = process.env;
      const environment = { ...environmentFor(provider), HOME, PATH, MANDATE_HOME: desk.home };
      const words = ["gateway", "--max-tokens", "20000", "--", process.execPath, script, pids];
      const mandate = spawn(process.execPath, [entry, ...words], {
        cwd: desk.folder,
        env: environment,
      });
      const ended = new Promise<number | null>((resolve) => mandate.once("exit", resolve));
      await until("the provider is asked", () => provider.billed.length > asked);
      const [program = 0, left = 0] = JSON.parse(readFileSync(pids, "utf8")) as number[];
      mandate.kill(signal);
      const code = await ended;
      await until("the program has ended", () => !isAlive(program));
      const shown = (...typed: string[]) => desk.type(typed, { environment });
      const { out: list } = await shown("ls");
      const [runId = ""] = /r[0-9a-f]{6,8}/.exec(list) ?? [];
      if (signal === "SIGKILL") {
        expect(isAlive(left)).toBe(true);
        await shown("resume", runId);
      } else expect(code).toBe(143);
      await until("what it left has ended", () => !isAlive(left));
      const { out } = await shown("show", runId);
      expect(out).toMatch(
        signal === "SIGKILL" ? /program that held this session has ended/ : /cancelled/,
      );
      expect(out).toMatch(/≤/);
      expect((await shown("verify")).code).toBe(0);
      desk.clear();
    });
  }
});
