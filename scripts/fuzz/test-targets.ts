import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { writeFailure } from "./corpus.ts";
import { commandFor } from "./repeat-command.ts";
import { type FuzzOutcome, runTarget } from "./run-target.ts";
import type { Target } from "./target.ts";

const fixedSeed = 7;
const randomSeed = Math.floor(Math.random() * 2 ** 31);
const found = fileURLToPath(new URL("../../.mandate/fuzz", import.meta.url));

/** What holds a change up must be about that change: there the cases are the same every time. */
const isGate = process.env["CI"] === "true";

/** `MANDATE_FUZZ_SECONDS` is for each target; without it a second and a half, by two seeds. */
const seconds = Number(process.env["MANDATE_FUZZ_SECONDS"] || 0);

/** A test for each target: the same cases every time, then others that are named when one fails. */
export function testTargets(targets: readonly Target[]): void {
  describe.each(targets.map((target) => [target.name, target] as const))("%s", (_name, target) => {
    test(target.promise, { timeout: (seconds + 60) * 1000 }, async (context) => {
      const cases = target.cases ?? 200;
      const fixed = await runTarget(target, { seed: fixedSeed, cases, seconds: 1.2 });
      if (fixed.skipped !== undefined) context.skip(fixed.skipped);
      expectNothing(target, fixed);
      if (!isGate || seconds > 0) {
        const others = { seed: randomSeed, seconds: Math.max(0.4, seconds) };
        expectNothing(target, await runTarget(target, others));
      }
      expect(fixed.cases).toBeGreaterThan(0);
    });
  });
}

function expectNothing(target: Target, { failure }: FuzzOutcome): void {
  if (failure === undefined) return;
  const name = `${target.name}-${failure.seed}`;
  const file = writeFailure(found, name, failure.error, failure.input);
  throw new Error(
    `${target.name}: ${target.promise}\n${failure.error}\n\ninput: ${file}\nagain: ${commandFor(target.name, failure)}`,
  );
}
