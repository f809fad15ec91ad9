import { expect, test } from "vitest";
import { KnownRun } from "./torture/known-run.ts";
import { parseOptions } from "./torture/options.ts";
import { differences, type Outcome } from "./torture/outcome.ts";
import { torture } from "./torture/torture.ts";

// On a machine that does much else at the same time, each life takes seconds.
test("a run that is killed a few times loses nothing", { timeout: 90_000 }, async () => {
  const options = parseOptions(["--kills", "6", "--seed", "7", "--synchronous", "normal"]);
  const tally = await torture(options, () => {});
  expect(tally).toMatchObject({ kills: 6, killsLeft: 0 });
  expect(tally.runs).toBeGreaterThan(0);
  expect(tally.children).toBe(tally.runs * 8);
  expect(tally.recoveries.length).toBeGreaterThan(0);
});

const child = {
  parent: "root" as string | null,
  status: "completed",
  reason: "",
  text: "Done.",
  wasCut: false,
};

function outcomeWith(changed: Partial<typeof child>): Outcome {
  const root = { ...child, parent: null, text: `It said: ${changed.text ?? child.text}` };
  const delegations = new Map([
    ["root", root],
    ["child", { ...child, ...changed }],
  ]);
  return { run: "succeeded", delegations, files: new Map(), problems: [], cutCalls: 0 };
}

test("another result, another end and a missing child are told", () => {
  const undisturbed = outcomeWith({});
  expect(differences(undisturbed, undisturbed)).toEqual([]);
  expect(differences(outcomeWith({ text: "Lost." }), undisturbed)).toEqual([
    'root says "It said: Lost.", not "It said: Done.".',
    'child says "Lost.", not "Done.".',
  ]);
  expect(differences(outcomeWith({ status: "failed" }), undisturbed)).toHaveLength(1);
  const alone = { ...undisturbed, delegations: new Map() };
  expect(differences(alone, undisturbed)).toHaveLength(2);
});

test("a cut call excuses what its delegation and those above it say, and not how they ended", () => {
  const undisturbed = outcomeWith({});
  expect(differences(outcomeWith({ text: "Perhaps.", wasCut: true }), undisturbed)).toEqual([]);
  expect(differences(outcomeWith({ status: "failed", wasCut: true }), undisturbed)).toHaveLength(1);
});

test("one that would be given up the next time is spared until it got somewhere", () => {
  const known = new KnownRun();
  const opened = { id: "a", status: "running", resumptions: 2, waits: false };
  known.beginLife();
  known.hear({ type: "opened", open: [opened] });
  expect(known.mayBeKilled).toBe(false);
  const turn = { run_id: "r", seq: 1, hash: "h", type: "agent.model_turn", id: "a" };
  known.hear({ type: "committed", events: [turn] });
  expect(known.mayBeKilled).toBe(true);
  known.beginLife();
  known.hear({ type: "opened", open: [{ ...opened, waits: true }] });
  expect(known.mayBeKilled).toBe(true);
});

test("options that make no sense are refused with a sentence", () => {
  expect(() => parseOptions(["--kills", "many"])).toThrow("--kills is a whole number from 1 on");
  expect(() => parseOptions(["--synchronous", "off"])).toThrow("--synchronous is full or normal");
  expect(() => parseOptions(["--kilss", "3"])).toThrow("--kilss");
});
