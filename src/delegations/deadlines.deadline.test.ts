/** Promises about real time: a deadline of some milliseconds is kept, whatever is being waited for. */
import { expect, it } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import { callSlow, childThat, deadlines, slowTool } from "./deadlines.test-support.ts";

/** The promise is 1000 ms on a machine with nothing else to do. */
const ceilingMs = 10_000;

async function timed(...call: Parameters<typeof childThat>) {
  const began = performance.now();
  const { shown } = await childThat(...call);
  return { shown, took: performance.now() - began };
}

it("a request without a first token ends in time", async () => {
  const limits = { deadlines: { ...deadlines, firstTokenMs: 20 } };
  const { shown, took } = await timed(() => ({ fault: "stall" }), "worker", { limits });
  expect(shown.result).toBe("The model gave no first token for 20 ms.");
  expect(took).toBeLessThan(ceilingMs);
});

it("a call that takes too long ends in time", async () => {
  const limits = { deadlines: { ...deadlines, toolMs: 20 } };
  const script: Script = ({ caller }) => (caller.turn === 1 ? callSlow({ listens: true }) : "done");
  const { shown, took } = await timed(script, "worker", { limits });
  expect(shown.status).toBe("completed");
  expect(took).toBeLessThan(ceilingMs);
});

it("a delegation in which nothing happens ends in time", async () => {
  const limits = { deadlines: { ...deadlines, idleMs: 500 } };
  const { shown, took } = await timed(() => callSlow({ listens: true }), "worker", { limits });
  expect(shown.result).toBe("Nothing happened for 500 ms.");
  expect(took).toBeLessThan(ceilingMs);
});

it("a child whose model never answers ends in time", async () => {
  const { shown, took } = await timed(() => ({ fault: "hang" }), "brief");
  expect(shown.result).toBe("It took longer than 40 ms.");
  expect(took).toBeLessThan(ceilingMs);
});

it("a child whose tool ignores its signal ends in time", async () => {
  const { state, tool } = slowTool();
  const { shown, took } = await timed(() => callSlow(), "brief", { tools: [tool] });
  expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  expect(state.finished).toBe(0);
  expect(took).toBeLessThan(ceilingMs);
});
