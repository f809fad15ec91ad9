import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

let desk: Desk;
let runId: string;

beforeEach(async () => {
  desk = new Desk();
  desk.write("book.yaml", 'version: 1\nreplies:\n  - text: "Done."\n');
  await desk.type(["run", "--playbook", "book.yaml", "go"]);
  runId = JSON.parse((await desk.type(["ls", "--json"])).out)[0].id;
});

afterEach(() => {
  desk.clear();
});

function passDays(days: number): void {
  desk.aheadMs += days * 24 * 60 * 60 * 1000;
}

test("what is younger stays, and a dry run removes nothing", async () => {
  const young = await desk.type(["prune", "--older-than", "90d"]);
  expect(young).toMatchObject({
    code: 0,
    out: "Pruned 0 runs with 0 events, and 0 artifacts.\n",
  });
  passDays(91);
  const dry = await desk.type(["prune", "--older-than", "12w", "--dry-run", "--json"]);
  expect(JSON.parse(dry.out)).toMatchObject({ dryRun: true, runs: [{ runId }], damaged: [] });
  expect((await desk.type(["ls"])).out).toContain(runId);
});

test("a pruned run is named as that, and verify counts it and finds nothing wrong", async () => {
  passDays(91);
  const { code, out } = await desk.type(["prune", "--older-than", "90d", "--keep-failed"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^Pruned 1 run with \d+ events, and 0 artifacts\.\n$/);
  expect((await desk.type(["ls", "--json"])).out.trim()).toBe("[]");
  for (const words of [
    ["show", runId],
    ["replay", runId],
    ["logs", runId],
    ["fork", runId, "--at", "3"],
  ]) {
    const { err } = await desk.type(words);
    expect(err).toMatch(new RegExp(`Run ${runId} was pruned on \\d{4}-\\d\\d-\\d\\d by local`));
    expect(err).not.toMatch(/\n\s+at /);
  }
  const verified = await desk.type(["verify"]);
  expect(verified.code).toBe(0);
  expect(verified.out).toMatch(/everything holds\n1 run with \d+ events pruned on /);
  const { pruned } = JSON.parse((await desk.type(["verify", "--json"])).out);
  expect(pruned).toMatchObject({ runs: 1 });
});

test("the configured time counts where none is said, and a wrong one is an error", async () => {
  const none = await desk.type(["prune"]);
  expect(none).toMatchObject({ code: 2, err: expect.stringContaining("--older-than 90d") });
  for (const wrong of ["90", "0d", "1.5d", "1y", "d", "99999999d"]) {
    const { code, err } = await desk.type(["prune", "--older-than", wrong]);
    expect([code, err]).toEqual([2, expect.stringContaining("such as 90d")]);
  }
  const config = desk.write("own.yaml", "retention: { days: 30 }\n");
  passDays(31);
  const environment = { MANDATE_CONFIG: config };
  const { out } = await desk.type(["prune", "--json"], { environment });
  expect(JSON.parse(out)).toMatchObject({ runs: [{ runId }] });
});
