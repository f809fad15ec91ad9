import type { ScriptError, WorkflowReply } from "./workflow-request.ts";

type Main = (args: unknown) => Promise<unknown>;

/** A child script, to be called with what it has in place of the globals. */
type Child = (
  agent: unknown,
  workflow: unknown,
  phase: unknown,
  log: unknown,
  console: unknown,
  args: unknown,
) => Promise<unknown>;

export interface InstalledGlobals {
  start(main: Main, args: string): void;
  reply(json: string): void;
  runChild(json: string, child: Child): void;
}

/**
 * Gives a fresh realm the globals of the format, and no others. Its source is evaluated inside the
 * interpreter, so it refers to nothing outside itself. `send` passes a request as JSON.
 */
export function installGlobals(
  send: (json: string) => void,
  settings: { readonly total: number | null; readonly mostItems: number },
): InstalledGlobals {
  const { parse, stringify } = JSON;
  const { construct, ownKeys } = Reflect;
  const { defineProperty, freeze, fromEntries, getPrototypeOf, keys } = Object;
  const { isArray } = Array;
  const globals = globalThis as unknown as Record<string, unknown>;

  const kept = [
    ...["Object", "Function", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError"],
    ...["TypeError", "URIError", "AggregateError", "SuppressedError", "Iterator", "Array"],
    ...["parseInt", "parseFloat", "isNaN", "isFinite", "decodeURI", "decodeURIComponent"],
    ...["encodeURI", "encodeURIComponent", "escape", "unescape", "Infinity", "NaN", "undefined"],
    ...["eval", "Number", "Boolean", "String", "Math", "Reflect", "Symbol", "DisposableStack"],
    ...["globalThis", "BigInt", "Date", "RegExp", "JSON", "Proxy", "Map", "Set", "WeakMap"],
    ...["WeakSet", "ArrayBuffer", "Uint8ClampedArray", "Int8Array", "Uint8Array", "Int16Array"],
    ...["Uint16Array", "Int32Array", "Uint32Array", "BigInt64Array", "BigUint64Array"],
    ...["Float16Array", "Float32Array", "Float64Array", "DataView", "Promise"],
    ...["AsyncDisposableStack"],
  ];
  for (const name of ownKeys(globals)) {
    if (typeof name !== "string" || !kept.includes(name)) delete globals[name as string];
  }
  withoutCodeFromText();
  withoutTime();

  const waiting = new Map<
    number,
    { resolve(value: unknown): void; reject(error: unknown): void }
  >();
  const timers = new Map<number, () => void>();
  const top: Scope = { name: undefined, phase: undefined };
  let lastId = 0;
  let spent = 0;

  interface Scope {
    readonly name: string | undefined;
    phase: string | undefined;
  }

  function request(fields: Record<string, unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      lastId += 1;
      fields["id"] = lastId;
      send(stringify(fields));
      waiting.set(lastId, { resolve, reject });
    });
  }

  const texts = ["label", "phase", "model", "effort", "isolation", "agentType"];

  function agentOf(scope: Scope) {
    return async function agent(prompt: unknown, options?: unknown): Promise<unknown> {
      const fields: Record<string, unknown> = { kind: "agent", prompt: String(prompt) };
      if (scope.phase !== undefined) fields["phase"] = scope.phase;
      if (scope.name !== undefined) fields["workflow"] = scope.name;
      if (typeof options === "object" && options !== null) {
        const given = options as Record<string, unknown>;
        for (const name of texts) {
          const value = given[name];
          if (value !== undefined && value !== null) fields[name] = String(value);
        }
        fields["schema"] = given["schema"];
      }
      return request(fields);
    };
  }

  function logOf({ name }: Scope) {
    const before = name === undefined ? "" : `[${name}] `;
    return function log(message?: unknown): void {
      send(stringify({ kind: "log", text: `${before}${String(message)}` }));
    };
  }

  function phaseOf(scope: Scope) {
    return function phase(title?: unknown): void {
      scope.phase = String(title);
      send(stringify({ kind: "phase", title: scope.phase }));
    };
  }

  function consoleOf(scope: Scope): object {
    const log = logOf(scope);
    const write = (...given: readonly unknown[]): void => log(given.map(String).join(" "));
    return { log: write, info: write, debug: write, warn: write, error: write };
  }

  async function parallel(thunks: unknown): Promise<readonly unknown[]> {
    const each = listOf(thunks, "parallel");
    for (const thunk of each) {
      if (typeof thunk !== "function") {
        throw new TypeError(
          "parallel() takes functions: wrap each call, as in () => agent(…), so that it starts here.",
        );
      }
    }
    const log = logOf(top);
    return Promise.all(
      each.map(async (thunk, index) => {
        try {
          return copied(await (thunk as () => unknown)()) ?? null;
        } catch (error) {
          log(`parallel[${index}] failed: ${describe(error).message}`);
          return null;
        }
      }),
    );
  }

  type Stage = (previous: unknown, item: unknown, index: number) => unknown;

  async function pipeline(items: unknown, ...stages: readonly unknown[]): Promise<unknown> {
    const each = listOf(items, "pipeline");
    for (const stage of stages) {
      if (typeof stage !== "function") throw new TypeError("A stage of pipeline() is a function.");
    }
    const log = logOf(top);
    return Promise.all(
      each.map(async (item, index) => {
        try {
          let previous: unknown = item;
          for (const stage of stages as readonly Stage[]) {
            previous = await stage(previous, item, index);
            if (previous === null) return null;
          }
          return copied(previous);
        } catch (error) {
          log(`pipeline[${index}] failed: ${describe(error).message}`);
          return null;
        }
      }),
    );
  }

  function listOf(value: unknown, name: string): readonly unknown[] {
    if (!isArray(value)) throw new TypeError(`${name}() takes an array.`);
    const { length } = value;
    if (length > settings.mostItems) {
      throw new RangeError(`${name}() takes at most ${settings.mostItems} elements.`);
    }
    // By index: the script may have given the array an iterator of its own.
    const list: unknown[] = [];
    for (let index = 0; index < length; index += 1) list[index] = value[index];
    return list;
  }

  /** Functions vanish, and of other objects their own fields stay. `above`: what is being copied. */
  function copied(value: unknown, above: Set<object> = new Set()): unknown {
    if (typeof value === "function" || typeof value === "symbol") return undefined;
    if (typeof value !== "object" || value === null) return value;
    if (above.has(value)) throw new TypeError("A value that contains itself cannot be copied.");
    above.add(value);
    const copy = isArray(value)
      ? value.map((each) => copied(each, above))
      : fromEntries(
          keys(value).flatMap((key) => {
            const each = (value as Record<string, unknown>)[key];
            const vanishes = typeof each === "function" || typeof each === "symbol";
            return vanishes ? [] : [[key, copied(each, above)]];
          }),
        );
    above.delete(value);
    return copy;
  }

  async function workflow(ref: unknown, args?: unknown): Promise<unknown> {
    const given = args === undefined ? undefined : parse(stringify(args));
    const run = (await request({ kind: "workflow", ref })) as (args: unknown) => Promise<unknown>;
    return run(given);
  }

  function childOf(name: string, child: Child): (args: unknown) => Promise<unknown> {
    return async (args) => {
      const scope: Scope = { name, phase: top.phase };
      const nested = async (): Promise<never> => {
        throw new Error("A workflow that another one runs cannot run a third: one level only.");
      };
      const result = await child(
        agentOf(scope),
        nested,
        phaseOf(scope),
        logOf(scope),
        consoleOf(scope),
        parsedArgs(args),
      );
      const json = jsonOf(result);
      return parse(json);
    };
  }

  function startTimer(call: unknown, ms?: unknown, ...given: readonly unknown[]): number {
    if (typeof call !== "function") throw new TypeError("setTimeout() takes a function.");
    lastId += 1;
    timers.set(lastId, () => call(...given));
    const wait = Number(ms);
    send(stringify({ kind: "timer", id: lastId, ms: wait > 0 ? Math.min(wait, 2 ** 31 - 1) : 0 }));
    return lastId;
  }

  function clearTimer(timer?: unknown): void {
    if (typeof timer !== "number" || !timers.delete(timer)) return;
    send(stringify({ kind: "clear", timer }));
  }

  /** A string that holds JSON reaches the script as the value. */
  function parsedArgs(args: unknown): unknown {
    if (typeof args !== "string") return args;
    try {
      return parse(args);
    } catch {
      return args;
    }
  }

  function jsonOf(result: unknown): string {
    if (result === undefined) return "null";
    if (["bigint", "function", "symbol"].includes(typeof result)) {
      throw new TypeError(`The result is a ${typeof result}, which JSON does not have.`);
    }
    return stringify(copied(result)) ?? "null";
  }

  function describe(error: unknown): ScriptError {
    try {
      if (typeof error !== "object" || error === null) {
        return { name: "Error", message: String(error) };
      }
      const { message, name } = error as { readonly message?: unknown; readonly name?: unknown };
      return { name: String(name ?? "Error"), message: String(message ?? stringify(error)) };
    } catch {
      return { name: "Error", message: "An error that cannot be read was thrown." };
    }
  }

  function placeOf(error: unknown): string | undefined {
    try {
      return /workflow:(\d+:\d+)/.exec(String((error as { stack?: unknown }).stack))?.[1];
    } catch {
      return undefined;
    }
  }

  const budget = freeze({
    total: settings.total,
    spent: () => spent,
    remaining: () =>
      settings.total === null ? Number.POSITIVE_INFINITY : Math.max(0, settings.total - spent),
  });
  const given: Readonly<Record<string, unknown>> = {
    agent: agentOf(top),
    parallel,
    pipeline,
    phase: phaseOf(top),
    log: logOf(top),
    console: consoleOf(top),
    budget,
    workflow,
    setTimeout: startTimer,
    clearTimeout: clearTimer,
    args: undefined,
  };
  for (const [name, value] of Object.entries(given)) {
    defineProperty(globals, name, { value, writable: true, configurable: true, enumerable: false });
  }

  /** Code that is made of text at run time could not be looked at before. */
  function withoutCodeFromText(): void {
    const refuse = (name: string) =>
      function refused(): never {
        throw new EvalError(`${name} is not available: a workflow makes no code from text.`);
      };
    globals["eval"] = refuse("eval");
    const kinds = [
      () => undefined,
      async () => undefined,
      function* () {
        yield 1;
      },
      async function* () {
        yield 1;
      },
    ];
    for (const kind of kinds) {
      const prototype: object = getPrototypeOf(kind);
      const refused = refuse("Function");
      defineProperty(refused, "prototype", { value: prototype });
      defineProperty(prototype, "constructor", { value: refused, configurable: false });
      if (prototype === getPrototypeOf(Object)) globals["Function"] = refused;
    }
  }

  /** What differs from run to run would make a resumed run do other things. */
  function withoutTime(): void {
    const RealDate = Date;
    const refuse = (name: string) => (): never => {
      throw new Error(
        `${name} is not available: a workflow that is resumed must do the same again.`,
      );
    };
    function SafeDate(...fields: readonly unknown[]): object {
      if (new.target === undefined) refuse("Date()")();
      if (fields.length === 0) refuse("new Date()")();
      return construct(RealDate, fields, new.target ?? SafeDate);
    }
    const { UTC, parse: parseDate, prototype } = RealDate;
    for (const [name, value] of [
      ["name", "Date"],
      ["prototype", prototype],
      ["UTC", UTC],
      ["parse", parseDate],
      ["now", refuse("Date.now")],
    ] as const) {
      defineProperty(SafeDate, name, { value, configurable: name !== "prototype" });
    }
    defineProperty(prototype, "constructor", { value: SafeDate });
    globals["Date"] = SafeDate;
    defineProperty(Math, "random", { value: refuse("Math.random"), configurable: true });
  }

  function take(json: string): { readonly reply: WorkflowReply; readonly waiter: Waiter } | null {
    const reply = parse(json) as WorkflowReply;
    ({ spent } = reply);
    const fire = timers.get(reply.id);
    if (fire !== undefined) {
      timers.delete(reply.id);
      try {
        fire();
      } catch (error) {
        logOf(top)(`A timer failed: ${describe(error).message}`);
      }
      return null;
    }
    const waiter = waiting.get(reply.id);
    waiting.delete(reply.id);
    return waiter === undefined ? null : { reply, waiter };
  }

  interface Waiter {
    resolve(value: unknown): void;
    reject(error: unknown): void;
  }

  return {
    start(main, args) {
      globals["args"] = args === "" ? undefined : parsedArgs(parse(args));
      main(undefined)
        .then(
          (result) => {
            send(stringify({ kind: "done", json: jsonOf(result) }));
          },
          (error) =>
            send(stringify({ kind: "failed", error: describe(error), place: placeOf(error) })),
        )
        .catch((error) => send(stringify({ kind: "failed", error: describe(error) })));
    },
    reply(json) {
      const taken = take(json);
      if (taken === null) return;
      const { reply, waiter } = taken;
      if ("value" in reply) return waiter.resolve(reply.value);
      const { message, name } = reply.error;
      waiter.reject(name === "TypeError" ? new TypeError(message) : new Error(message));
    },
    runChild(json, child) {
      const taken = take(json);
      if (taken === null || !("value" in taken.reply)) return;
      taken.waiter.resolve(childOf(String(taken.reply.value), child));
    },
  };
}
