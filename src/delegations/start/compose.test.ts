import { describe, expect, it } from "vitest";
import type { ModelReply, ToolCall } from "../../ports/model.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { type CallContext, compose, type Middleware, type TurnContext } from "../middleware.ts";

const reply: ModelReply = { text: "hi", calls: [], finish: "stop", usage: null, served: null };
const call: ToolCall = { id: "c", name: "write_file", input: { path: "original" } };

/** What the gate would be given. */
async function performed(middleware: readonly Middleware[]): Promise<ToolCall[]> {
  const gate: ToolCall[] = [];
  const composed = compose(middleware);
  const next = async (changed: ToolCall = call): Promise<ToolResult> => {
    gate.push(changed);
    return { text: "done" };
  };
  await (composed.call?.({ call } as CallContext, next) ?? next());
  return gate;
}

const changing: Middleware = {
  call: ({ call: seen }, next) => next({ ...seen, input: { path: "changed" } }),
};
const silent: Middleware = { call: (_context, next) => next() };

describe("compose", () => {
  it("of nothing is nothing, so that nobody pays for it", () => {
    expect(compose([])).toEqual({});
    expect(compose([{}, {}])).toEqual({});
  });

  it("runs the first outermost", async () => {
    const order: string[] = [];
    const named = (name: string): Middleware => ({
      async turn(_context, next) {
        order.push(`${name} before`);
        const answer = await next();
        order.push(`${name} after`);
        return answer;
      },
    });
    const composed = compose([named("a"), {}, named("b")]);
    await composed.turn?.({} as TurnContext, async () => {
      order.push("model");
      return reply;
    });
    expect(order).toEqual(["a before", "b before", "model", "b after", "a after"]);
  });

  it("passes a changed call on to those inside, and to the gate", async () => {
    let seen: unknown;
    const looking: Middleware = {
      call(context, next) {
        seen = context.call.input;
        return next(context.call);
      },
    };
    expect(await performed([changing, looking])).toMatchObject([{ input: { path: "changed" } }]);
    expect(seen).toEqual({ path: "changed" });
  });

  it("keeps a change although those inside say nothing of the call", async () => {
    for (const inside of [[silent], [silent, silent], [{}, silent]]) {
      const gate = await performed([changing, ...inside]);
      expect(gate).toMatchObject([{ input: { path: "changed" } }]);
    }
    expect(await performed([silent, changing])).toMatchObject([{ input: { path: "changed" } }]);
    expect(await performed([silent, silent])).toEqual([call]);
  });

  it("stops where somebody throws or answers", async () => {
    const refusing: Middleware = {
      call: async () => {
        throw new Error("no");
      },
    };
    await expect(performed([silent, refusing])).rejects.toThrow("no");
    const answering: Middleware = { call: async () => ({ text: "cached" }) };
    expect(await performed([answering, silent])).toEqual([]);
  });

  it("does what lies inside once, however often it is asked for", async () => {
    const insisting: Middleware = {
      async call(_context, next) {
        await next();
        return next();
      },
    };
    expect(await performed([insisting, insisting])).toHaveLength(1);
  });

  it("keeps the object that a middleware is", async () => {
    class Counting implements Middleware {
      count = 0;
      async delegation(_context: unknown, next: () => Promise<void>): Promise<void> {
        this.count++;
        await next();
      }
    }
    const [one, two] = [new Counting(), new Counting()];
    await compose([one, two]).delegation?.({} as never, async () => {});
    expect([one.count, two.count]).toEqual([1, 1]);
  });
});
