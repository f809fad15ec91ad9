import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { echoModel, head, requestOf } from "./workflow-run.test-support.ts";
import { WorkflowSource } from "./workflow-source.ts";

const options = { profiles: [testProfile("general", { tools: [] })] };

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** What a script got from another one that it named. */
const said = (ref: object | string): string =>
  `try { return await workflow(${JSON.stringify(ref)}) } catch (error) { return error.message }`;

describe("a hostile script", () => {
  it("reads nothing of a file that a link leads to, or that is not trusted", async () => {
    for (const trustWorkspace of [true, false]) {
      await using mandate = await openEngine({ ...options, trustWorkspace, model: echoModel() });
      const { workspace } = mandate;
      const secret = write(
        join(dirname(workspace), `secret-${trustWorkspace}`),
        "sk-secret-key 1\n",
      );
      symlinkSync(secret, join(workspace, "link.js"));
      symlinkSync(dirname(secret), join(workspace, "folder"));
      write(join(workspace, "notes.txt"), "other-secret 1\n");
      for (const scriptPath of [
        "link.js",
        `folder/secret-${trustWorkspace}`,
        "../secret",
        secret,
      ]) {
        const { result } = await mandate.run(await requestOf(mandate, said({ scriptPath })));
        expect(result.result).toMatch(/is not in the folder of this run|is not trusted/);
        expect(result.result).not.toContain("sk-");
      }
      const { result } = await mandate.run(
        await requestOf(mandate, said({ scriptPath: "notes.txt" })),
      );
      expect(result.result.includes("other-secret")).toBe(trustWorkspace);
    }
  });

  it("ends when it makes calls without end, whatever each of them costs", async () => {
    for (const call of ["setTimeout(() => {}, 0)", "workflow('none').catch(() => {})"]) {
      await using mandate = await openEngine({ ...options, model: echoModel() });
      const script = `for (let i = 0; i < 3000; i++) ${call}; await new Promise(() => {})`;
      const { events, result } = await mandate.run(
        await requestOf(mandate, script, { limits: { maxAgents: 1 } }),
      );
      expect(result.result).toContain("The script made more than 1010 calls.");
      expect(events.length).toBeLessThan(2100);
    }
  });

  it("harms no run beside it, however it ends", async () => {
    await using mandate = await openEngine({ ...options, model: echoModel() });
    const ends = [
      ["const a = {}; a.a = a; return a", "contains itself"],
      ["return new Proxy({}, { ownKeys() { throw new TypeError('trap') } })", "trap"],
      ["await new Promise(() => {}); return 1", "never happens"],
      ["const f = () => f(); f()", "call stack"],
      ["const all = []; for (;;) all.push(new Array(1e5).fill(1))", "memory"],
      ["Object.prototype.toJSON = () => ({ kind: 'x' }); await agent('x')", "interface"],
      ["return await agent('x', { schema: { type: 'object', $ref: '#/nowhere' } })", "schema"],
      ["throw Object.create(null)", "Error"],
    ] as const;
    const kind =
      "Object.prototype.polluted = 1; Array.prototype.map = null; await agent('ECHO<a>')";
    const beside =
      "return [({}).polluted ?? 'clean', await agent('ECHO<b>'), [1].map((x) => x + 1)]";
    const runs = await Promise.all(
      [...ends.map(([script]) => script), kind, beside].map(async (script) =>
        mandate.run(await requestOf(mandate, script)),
      ),
    );
    for (const [index, [script, sentence]] of ends.entries()) {
      expect([script, runs[index]?.result.status]).toEqual([script, "failed"]);
      expect(runs[index]?.result.result, script).toContain(sentence);
    }
    expect(runs.at(-1)?.result.result).toBe('["clean","b",[2]]');
  });

  it("writes no long texts into the log by what it calls, names or throws", async () => {
    await using mandate = await openEngine({ ...options, model: echoModel() });
    const script = `const long = "x".repeat(1_000_000)
      const quiet = (promise) => promise.catch(() => null)
      for (const name of ["agentType", "model", "effort", "isolation"]) await quiet(agent("a", { [name]: long }))
      await agent("ECHO<a>", { phase: long, label: long })
      await quiet(workflow(long)); await quiet(workflow({ scriptPath: long }))
      phase(long); log(long)
      throw new Error(long)`;
    const { events, result } = await mandate.run(await requestOf(mandate, script));
    expect(result.status).toBe("failed");
    const longest = Math.max(...events.map((event) => JSON.stringify(event).length));
    expect(longest).toBeLessThan(30_000);
  });
});

it("a plugin that calls itself the person is trusted no more than any other", async () => {
  await using mandate = await openEngine(options);
  const home = join(mandate.workspace, "home");
  const plugin = join(home, ".claude", "plugins", "p");
  for (const name of ["user", "project", "file"]) {
    write(join(plugin, ".claude-plugin", "plugin.json"), JSON.stringify({ name }));
    write(join(plugin, "workflows", "m.js"), head);
    const environment = { HOME: home };
    const source = new WorkflowSource({ environment, trusted: () => new Set() });
    const [found] = source.files(null);
    expect([found?.origin, found?.name, found?.isTrusted]).toEqual([name, `${name}:m`, false]);
    expect(() => source.child(`${name}:m`, null)).toThrow("is not trusted");
  }
});
