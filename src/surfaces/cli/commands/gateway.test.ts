import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  environmentFor,
  MockProvider,
  realKeys,
} from "../../../testing/mock-provider.test-support.ts";
import { until as untilSome } from "../../../testing/until.ts";
import { Desk, until } from "../desk.test-support.ts";

const provider = new MockProvider();
beforeAll(() => provider.start());
afterAll(() => provider.close());

const { PATH = "" } = process.env;

/** A program that asks until it is refused, or so often, and writes what it saw into a file. */
const asking = `
import { writeFileSync } from "node:fs";
const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL } = process.env;
const [most, file, code = "0"] = process.argv.slice(2);
const saw = { answers: 0, refusal: null, environment: process.env };
for (let asked = 0; asked < Number(most) && saw.refusal === null; asked++) {
  const answer = await fetch(ANTHROPIC_BASE_URL + "/v1/messages", {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": ANTHROPIC_API_KEY },
    body: JSON.stringify({
      model: "claude-sonnet-4-5",
      max_tokens: 300,
      messages: [{ role: "user", content: "again" }],
    }),
  });
  if (answer.ok) saw.answers++;
  else saw.refusal = { status: answer.status, body: await answer.json() };
}
writeFileSync(file, JSON.stringify(saw));
process.exit(Number(code));
`;

class GatewayDesk extends Desk {
  readonly script = this.write("asking.mjs", asking);
  readonly seen = this.write("seen.json", "");
  readonly environment = { ...environmentFor(provider), PATH, OFFICE_KEY: "office" };

  run(options: readonly string[], most: number, code = 0) {
    const command = [process.execPath, this.script, String(most), this.seen, String(code)];
    return this.type(["gateway", ...options, "--", ...command], { environment: this.environment });
  }

  async saw() {
    const { readFile } = await import("node:fs/promises");
    return JSON.parse(await readFile(this.seen, "utf8")) as {
      readonly answers: number;
      readonly refusal: { status: number; body: { error: { message: string } } } | null;
      readonly environment: Record<string, string>;
    };
  }

  shows(...words: readonly string[]) {
    return this.type(words, { environment: this.environment });
  }
}

describe("mandate gateway -- COMMAND", () => {
  it("runs the command, exits with its code, and leaves a run like any other", async () => {
    const desk = new GatewayDesk();
    const { code, err } = await desk.run(["--max-cost", "1", "--max-tokens", "20000"], 3);
    expect(code).toBe(0);
    expect(err).toMatch(/mandate: run r\w+ used 450 tokens, \$0\.00/);
    const { answers, environment, refusal } = await desk.saw();
    expect([answers, refusal]).toEqual([3, null]);
    // The program gets a token in place of every key.
    expect(
      Object.values(environment).filter((value) => Object.values(realKeys).includes(value)),
    ).toEqual([]);
    const [runId = ""] = /r[0-9a-f]{6,8}/.exec(err) ?? [];
    expect((await desk.shows("ls")).out).toContain(runId);
    expect((await desk.shows("tree", runId)).out).toMatch(/node/);
    expect((await desk.shows("logs", runId)).out).toMatch(
      /answered by anthropic\/claude-sonnet-4-5: Hello/,
    );
    expect((await desk.shows("show", runId)).out).toMatch(/450/);
    const verified = await desk.shows("verify");
    expect([verified.code, verified.out + verified.err]).toEqual([
      0,
      expect.stringMatching(/everything holds/),
    ]);
    expect((await desk.shows("replay", runId)).out).toMatch(/the same/);
    desk.clear();
  });

  it("stops a program that asks without end, and tells it why", async () => {
    const desk = new GatewayDesk();
    const before = provider.billed.length;
    const { code, err } = await desk.run(["--max-tokens", "3000"], 10_000, 7);
    expect(code).toBe(7);
    const { answers, refusal } = await desk.saw();
    expect(provider.billed.length - before).toBe(answers);
    expect(answers * 150).toBeLessThanOrEqual(3000);
    expect(refusal?.status).toBe(400);
    expect(refusal?.body.error.message).toMatch(/budget is too small .* Do not send it again/);
    expect(err).toMatch(/budget is too small/);
    const [runId = ""] = /r[0-9a-f]{6,8}/.exec(err) ?? [];
    expect((await desk.shows("show", runId)).out).toMatch(/budget used up/);
    expect((await desk.shows("logs", runId)).out).toMatch(/request refused/);
    desk.clear();
  });

  it("says how a command failed, and that one was not found", async () => {
    const desk = new GatewayDesk();
    const failed = await desk.run([], 0, 3);
    expect([failed.code, failed.err]).toEqual([3, expect.stringMatching(/exited with code 3/)]);
    const missing = await desk.shows("gateway", "--", "no-such-program-here");
    expect([missing.code, missing.err]).toEqual([2, expect.stringMatching(/was not found/)]);
    desk.clear();
  });

  it("ends a command whose time is over", async () => {
    const desk = new GatewayDesk();
    const script = desk.write("waits.mjs", "setInterval(() => undefined, 1000);");
    const { code, err } = await desk.shows(
      "gateway",
      "--timeout",
      "300ms",
      "--",
      process.execPath,
      script,
    );
    expect([code, err]).toEqual([124, expect.stringMatching(/longer than 300 ms/)]);
    desk.clear();
  });

  it("is cancelled from another terminal, and by a signal", async () => {
    const desk = new GatewayDesk();
    const script = desk.write("waits.mjs", "setInterval(() => undefined, 1000);");
    for (const how of ["command", "signal"] as const) {
      const typing = desk.start(["gateway", "--", process.execPath, script], {
        environment: desk.environment,
      });
      const runId = await untilSome("the run is open", async () => {
        const { out } = await desk.shows("ls", "--json");
        return /r[0-9a-f]{6,8}(?=[^}]*"(?:open|running)")/.exec(out)?.[0];
      });
      if (how === "command") await desk.shows("cancel", runId);
      else typing.signal("SIGTERM");
      const { code } = await typing.done;
      expect(code).toBe(how === "command" ? 130 : 143);
      expect((await desk.shows("show", runId)).out).toMatch(/cancelled/);
    }
    desk.clear();
  });

  it("refuses a model that no cap can hold, and starts nothing", async () => {
    const desk = new GatewayDesk();
    const { code, err } = await desk.run(["--max-cost", "1", "--model", "openai/unheard-of"], 1);
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(/price of the model "openai\/unheard-of" is not known/),
    ]);
    expect((await desk.shows("ls", "--json")).out).not.toMatch(/"r[0-9a-f]{6}/);
    desk.clear();
  });
});

describe("mandate gateway", () => {
  it("prints variables for a shell, and serves until it is stopped", async () => {
    const desk = new GatewayDesk();
    const environment = { ...desk.environment, SHELL: "/usr/bin/fish" };
    const typing = desk.start(["gateway", "--model", "openai/gpt-4.1"], { environment });
    await until(() => /serves until/.test(typing.soFar().err));
    const { out } = typing.soFar();
    expect(out).toMatch(/^set -gx ANTHROPIC_BASE_URL http:\/\/127\.0\.0\.1:\d+\/anthropic$/m);
    const variable = (name: string) =>
      new RegExp(`^set -gx ${name} (.*)$`, "m").exec(out)?.[1] ?? "";
    const answer = await fetch(`${variable("OPENAI_BASE_URL")}/models`, {
      headers: { authorization: `Bearer ${variable("OPENAI_API_KEY")}` },
    });
    expect(await answer.json()).toMatchObject({ data: [{ id: "gpt-4.1" }] });
    typing.signal("SIGINT");
    const { code, err } = await typing.done;
    expect([code, err]).toEqual([0, expect.stringMatching(/used 0 tokens/)]);
    await expect(fetch(variable("OPENAI_BASE_URL"))).rejects.toThrow();
    desk.clear();
  });
});
