import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { writeFailure } from "./corpus.ts";
import { commandFor } from "./repeat-command.ts";
import { type FuzzOutcome, runTarget } from "./run-target.ts";
import type { Target } from "./target.ts";

const fixedSeed = 7;
const found = fileURLToPath(new URL("../../.mandate/fuzz", import.meta.url));

/** For each target, with other cases every time; without it there are the same few every time. */
const seconds = Number(process.env["MANDATE_FUZZ_SECONDS"] || 0);

/** A test for each target. What holds a change up must be about that change: no case is new. */
export function testTargets(targets: readonly Target[]): void {
  describe.each(targets.map((target) => [target.name, target] as const))("%s", (_name, target) => {
    test(target.promise, { timeout: (seconds + 60) * 1000 }, async (context) => {
      const cases = Math.max(3, Math.ceil((target.cases ?? 200) / 8));
      const fixed = await runTarget(target, { seed: fixedSeed, cases, seconds: 45 });
      if (fixed.skipped !== undefined) context.skip(fixed.skipped);
      expectNothing(target, fixed);
      if (seconds > 0) {
        const seed = Math.floor(Math.random() * 2 ** 31);
        expectNothing(target, await runTarget(target, { seed, seconds }));
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
