import { expect, test } from "vitest";
import { conformance } from "./conformance.test-support.ts";
import { head, runScript as run } from "./workflow-vm.test-support.ts";

test("a script has the globals of the format, and no others", async () => {
  const { ended } = await run(conformance.globals.script);
  const { t, x, y } = (ended as { result: Record<string, Record<string, string>> }).result;
  const { Intl: _, Temporal: __, ...expected } = conformance.globals.expected;
  expect(t).toMatchObject(expected);
  expect(x).toMatchObject({
    dateNow: expect.stringContaining("Error: Date.now is not available"),
    newDate: expect.stringContaining("Error"),
    dateCall: expect.stringContaining("Error"),
    newDate1: "ok 1970-01-01T00:00:00.000Z",
    dateParse: "ok 1767225600000",
    random: expect.stringContaining("Error"),
    evalx: expect.stringContaining("EvalError"),
    fn: expect.stringContaining("EvalError"),
    ctor: expect.stringContaining("EvalError"),
    agentCtor: expect.stringContaining("EvalError"),
    metaKeys: expect.stringContaining("ReferenceError"),
    argsv: "ok undefined",
    budget: 'ok {"t":null,"s":0,"r":"Infinity","k":["total","spent","remaining"]}',
    frozenBudget: "ok true",
    setGlobal: "ok 1",
    strict: "ok true",
  });
  expect(y).toMatchObject({ afterTimeout: "fired", console: "log,info,debug,warn,error" });
  const { ended: own } = await run("return Object.getOwnPropertyNames(globalThis).sort().join()");
  expect((own as { result: string }).result).not.toMatch(
    /queueMicrotask|InternalError|SharedArrayBuffer|WeakRef|performance|std|os\b|scriptArgs|print/,
  );
});

test("args are a value, and a string that holds JSON is parsed", async () => {
  expect((await run("return args", { args: { a: [1] } })).ended).toEqual({ result: { a: [1] } });
  expect((await run("return args", { args: '{"a":1}' })).ended).toEqual({ result: { a: 1 } });
  expect((await run("return args", { args: "not JSON" })).ended).toEqual({ result: "not JSON" });
  expect((await run("args = 2; return args", { args: 1 })).ended).toEqual({ result: 2 });
});

test("output tokens that were used are what the replies say", async () => {
  const script = "await agent('a'); return [budget.total, budget.spent(), budget.remaining()]";
  expect((await run(script, { total: 10 })).ended).toEqual({ result: [10, 3, 7] });
});

test("an error names the line and the column of the script", async () => {
  const { ended } = await run(`${head}\n  null.x`);
  expect(ended).toMatchObject({ failed: expect.stringMatching(/^TypeError/), place: "3:3" });
});

test("a script that waits for what never happens has nothing open", async () => {
  expect((await run("await new Promise(() => {})")).ended).toBe("waits");
});

test("one run leaves nothing in another", async () => {
  await run("Object.prototype.x = 1; Array.prototype.map = null; globalThis.y = 1; return 1");
  const { ended } = await run("return [({}).x, typeof [].map, typeof y]");
  expect(ended).toEqual({ result: [null, "function", "undefined"] });
});
