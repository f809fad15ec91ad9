import { expect, test } from "vitest";
import { conformance } from "./conformance.test-support.ts";
import { runScript as run } from "./workflow-vm.test-support.ts";

const parseAnswers: Readonly<Record<string, unknown>> = { noreturn: null };

test("accepted scripts of the conformance cases end as in the original", async () => {
  const cases = conformance.parse.filter(({ status }) => status !== undefined);
  for (const { id, result, script, status } of cases) {
    const { ended } = await run(script);
    // Agents answer here with their prompts.
    if (script.includes("agent(") && !(id in parseAnswers)) continue;
    if (status === "failed") expect(ended, id).toHaveProperty("failed");
    else expect(ended, id).toEqual({ result });
  }
  expect(cases).toHaveLength(40);
});

test.each([
  ["an endless loop", "for (;;);"],
  ["endless microtasks", "const f = () => Promise.resolve().then(f); f(); await agent('x')"],
  ["a regular expression without end", "return /^(a|a)*$/.test('a'.repeat(40) + 'b')"],
])("%s ends the run, and nothing else", async (_name, script) => {
  await expect(run(script, { stretchMs: 300 })).rejects.toThrow("computed for more than 0.3 s");
  expect((await run("return 1")).ended).toEqual({ result: 1 });
});

test.each([
  ["arrays", "const all = []; for (;;) all.push(new Array(1e5).fill(1))"],
  ["a string", "let s = 'x'; for (;;) s += s + s"],
  ["a buffer", "return new ArrayBuffer(1e9).byteLength"],
  ["log lines", "const line = 'x'.repeat(1e6); for (;;) log(line)"],
])("a script that takes too much memory with %s fails", async (_name, script) => {
  const ended = await run(script, { memoryBytes: 32 * 1024 * 1024 }).then(
    ({ ended }) => ended,
    (error: Error) => ({ failed: error.message }),
  );
  expect(ended).toHaveProperty("failed");
});

/** Each returns "ESCAPED" where it reaches something of the host. */
const found = `(g) => (typeof g === "object" && g !== null || typeof g === "function") && (g.process || g.require || g.Buffer || g.fetch || g.WebAssembly || g.module) ? "ESCAPED" : "held"`;

const attempts: readonly string[] = [
  "return found(agent.constructor('return globalThis')())",
  "return found((() => {}).constructor.constructor('return this')())",
  "return found((async () => {}).constructor('return this')())",
  "return found((function* () {}).constructor('return this')().next().value)",
  "return found((async function* () {}).constructor('return this')())",
  "return found(Object.getPrototypeOf(async () => {}).constructor.call(null, 'return this')())",
  "return found(Reflect.construct(Object.getPrototypeOf(class {}).constructor, ['return this'])())",
  "return found((0, eval)('this'))",
  "return found(globalThis.constructor.constructor('return this')())",
  "const p = agent('x'); return found(p.constructor.constructor('return this')())",
  "const p = agent('x'); return found((await p.then.constructor)('return this')())",
  "try { await agent(Symbol()) } catch (e) { return found(e.constructor.constructor('return this')()) }",
  "try { null.x } catch (e) { return found(e.stack) + String(e.stack).includes('node:') }",
  "Error.prepareStackTrace = (_, frames) => frames; const s = new Error().stack; return found(s?.[0]?.getThis?.())",
  "const o = {}; o.__proto__.process = 1; const r = await agent('x'); delete Object.prototype.process; return found(r)",
  "Object.prototype.toJSON = () => ({ kind: 'done', json: '1', id: 1 }); await agent('x'); return 'held'",
  "Array.prototype.push = function (x) { return found(this) }; return await agent('x')",
  "Map.prototype.get = () => ({ resolve: () => {}, reject: () => {} }); return 'held'",
  "Promise.prototype.then = function (f) { f('forged'); return this }; return await agent('x')",
  "return found(new Proxy(agent, { apply: (t, self) => self }).call(globalThis.parent ?? globalThis))",
  'JSON.stringify = () => \'{"kind":"done","json":"\\\\"ESCAPED\\\\""}\'; await agent(\'x\'); return \'held\'',
];

test("no script leaves its interpreter", async () => {
  expect(attempts.length).toBeGreaterThanOrEqual(20);
  for (const body of attempts) {
    const { ended } = await run(`const found = ${found}\n${body}`, { stretchMs: 5000 }).catch(
      (error: Error) => ({ ended: { failed: error.message } }),
    );
    expect(JSON.stringify(ended), body).not.toContain("ESCAPED");
  }
  expect((await run("return [typeof process, ({}).process, [].push.length]")).ended).toEqual({
    result: ["undefined", null, 1],
  });
});
