import { expect, test } from "vitest";
import { runScript as run } from "./workflow-vm.test-support.ts";

test.each([
  ["an endless loop", "for (;;);"],
  ["endless microtasks", "const f = () => Promise.resolve().then(f); f(); await agent('x')"],
  ["a regular expression without end", "return /^(a|a)*$/.test('a'.repeat(40) + 'b')"],
  [
    "a result that doubles at every level",
    "let v = 1; for (let i = 0; i < 60; i++) v = [v, v]; return v",
  ],
  ["a loop that catches every refusal", "for (;;) try { log('') } catch {}"],
])("%s ends the run, and nothing else", async (_name, script) => {
  await expect(run(script, { stretchMs: 300 })).rejects.toThrow("computed for more than 0.3 s");
  expect((await run("return 1")).ended).toEqual({ result: 1 });
});

test.each([
  ["arrays", "const all = []; for (;;) all.push(new Array(1e5).fill(1))"],
  ["a string", "let s = 'x'; for (;;) s += s + s"],
  ["a buffer", "return new ArrayBuffer(1e9).byteLength"],
  ["many small lines", "for (;;) log('')"],
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
  // Frames of the interpreter's own functions.
  "let s; Error.prepareStackTrace = (_, f) => f; await agent('x', { get label() { s = new Error().stack; return 'l' } }); return s.map((f) => found(f.getFunction?.()) + found(f.getThis?.())).join()",
  "let s; Error.prepareStackTrace = (_, f) => f; await agent('x', { get label() { s = new Error().stack; return 'l' } }); return s.map((f) => { try { return found(f.getFunction()({}, 'x')) } catch { return 'held' } }).join()",
  "const got = []; const set = Map.prototype.set; Map.prototype.set = function (k, v) { got.push(this, v, v?.resolve); return set.call(this, k, v) }; await agent('x'); return got.map(found).join()",
  "Object.prototype.then = function (done) { done(found(this)) }; return await agent('x')",
  "Object.defineProperty(Object.prototype, 'kind', { set() { throw found(this) } }); return await agent('x')",
  "class F extends (function () {}).constructor { constructor() { super('return this') } } return found(new F()())",
  "return found(Reflect.construct((async () => {}).constructor, ['return this'], Object)())",
  "return found(Reflect.apply(globalThis['ev' + 'al'], null, ['this']))",
  "return found([].constructor.constructor('return this')())",
  "return found(Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype).constructor.constructor('return this')())",
  "return found(Iterator.prototype.constructor.constructor('return this')())",
  "return found(new DisposableStack().use({ [Symbol.dispose]() { return this } }))",
  "return found(agent.__lookupGetter__?.('caller')?.call(agent) ?? agent.caller)",
  "return found(budget.spent.bind(globalThis).constructor('return this')())",
  "return found(console.log.call(globalThis, { toString() { return this } }) ?? console)",
  "return found(await parallel([function () { return this ?? globalThis }]).then(([x]) => x))",
  "return found(await pipeline([globalThis], (x) => x).then(([x]) => x))",
  "const a = []; a.constructor = { [Symbol.species]: function () { return globalThis } }; return found(a.map((x) => x))",
  "return found(await new Promise((done) => setTimeout(function () { done(this ?? globalThis) }, 0)))",
  "return found(String.raw.constructor`return this`())",
  "const proxy = new Proxy({}, { ownKeys: () => ['constructor', 'process'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, k, self) => self }); return found(proxy.process.constructor)  === 'ESCAPED' ? 'held' : 'held'",
  "try { (function f() { f() })() } catch (e) { return found(e) + found(e.constructor.constructor) }",
  'JSON.stringify = () => \'{"kind":"done","json":"\\\\"ESCAPED\\\\""}\'; await agent(\'x\'); return \'held\'',
];

test("no script leaves its interpreter", async () => {
  expect(attempts.length).toBeGreaterThanOrEqual(40);
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

test("recursion without end is an error that the script can catch", async () => {
  const script = "try { (function f() { f() })() } catch (e) { return [e.name, await agent('x')] }";
  expect((await run(script)).ended).toEqual({ result: ["RangeError", "x"] });
});

/** A script can make its interpreter send anything: it owns every prototype in it. */
const forge = (request: object): string =>
  `Object.prototype.toJSON = function () { return "kind" in this ? ${JSON.stringify(request)} : this }
  return await agent("x")`;

test.each([
  ["of an unknown kind", { kind: "shell", id: 1 }],
  ["without a prompt", { kind: "agent", id: 1 }],
  ["with a prompt that is no text", { kind: "agent", id: 1, prompt: 5 }],
  ["with an id that is no number", { kind: "agent", id: "1", prompt: "x" }],
  ["of a timer in the past", { kind: "timer", id: 1, ms: -1 }],
  ["of a timer without time", { kind: "timer", id: 1, ms: null }],
  ["with a result that is no JSON", { kind: "done", json: "}{" }],
  ["with an error that is no text", { kind: "failed", error: { name: 1, message: null } }],
])("a forged request %s ends the run", async (_name, request) => {
  await expect(run(forge(request))).rejects.toThrow("its interface does not have");
});

test("a schema that is deeper than any is refused before it is walked through", async () => {
  const script =
    "let s = {}, o = s; for (let i = 0; i < 1000; i++) { o.a = {}; o = o.a } return await agent('x', { schema: s })";
  await expect(run(script)).rejects.toThrow("its interface does not have");
});

test("an array with an iterator of its own has as many elements as its length says", async () => {
  const script =
    "const a = [() => 1]; a[Symbol.iterator] = function* () { for (let i = 0; i < 9000; i++) yield () => 1 }; return (await parallel(a)).length";
  expect((await run(script)).ended).toEqual({ result: 1 });
});
