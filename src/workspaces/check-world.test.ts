import { describe, expect, it } from "vitest";
import type { CheckedDelegation } from "../events/checker/checked-run.ts";
import { checkWorld, type World } from "./check-world.ts";

const now = 10_000_000;
const longAgo = now - 3_600_000;

const empty: World = {
  ...{ at: now, copies: [], strays: [], merges: [], tickets: [] },
  processes: new Map(),
};

/** A delegation that was closed an hour ago, unless it is open. */
function delegation(
  id: string,
  status: CheckedDelegation["status"],
  fields: Partial<CheckedDelegation> = {},
): CheckedDelegation {
  const closedAt = status === "open" ? null : longAgo;
  return { id, runId: "r1", status, createdAt: longAgo, closedAt, copyId: null, ...fields };
}

const copy = (id: string, isHeld = false, madeOf: string | null = null) => ({
  ...{ id, hasFolder: true, isHeld, madeOf },
});
const inCopy = (id: string, status: CheckedDelegation["status"], copyId = id) =>
  delegation(id, status, { copyId });

interface Scene {
  readonly title: string;
  readonly world: Partial<World>;
  readonly delegations?: readonly CheckedDelegation[];
}

/** What is wrong whoever is at work, and what is said of it. */
const wrong: readonly (Scene & { readonly says: RegExp })[] = [
  {
    title: "a copy without a delegation",
    world: { copies: [copy("a")] },
    delegations: [inCopy("b", "failed")],
    says: /copy a belongs to no delegation/,
  },
  {
    title: "a copy of a delegation that has none",
    world: { copies: [copy("a")] },
    delegations: [delegation("a", "failed")],
    says: /copy a belongs to no delegation/,
  },
  {
    title: "a copy of what is completed",
    world: { copies: [copy("a", true)] },
    delegations: [inCopy("a", "completed")],
    says: /completed, but its working copy a still exists/,
  },
  {
    title: "a copy whose last user is completed",
    world: { copies: [copy("a")] },
    delegations: [inCopy("a", "failed"), inCopy("b", "completed", "a")],
    says: /completed, but its working copy a still exists/,
  },
  {
    title: "a missing copy of an open delegation",
    world: {},
    delegations: [inCopy("a", "open")],
    says: /open, but its working copy a is missing/,
  },
  {
    title: "a missing folder of a copy of an open delegation",
    world: { copies: [{ ...copy("a", true), hasFolder: false }] },
    delegations: [inCopy("a", "failed"), inCopy("b", "open", "a")],
    says: /open, but its working copy a is missing/,
  },
  {
    title: "a leftover of a copy",
    world: { strays: [{ path: "/home/worktrees/.removing-a", since: longAgo }] },
    says: /removing-a" is a leftover/,
  },
  {
    title: "a merge without a live process",
    world: { copies: [copy("a")], merges: [{ id: "a", into: "/src", isHeld: false }] },
    delegations: [inCopy("a", "open")],
    says: /into "\/src" stopped half-way/,
  },
  {
    title: "a merge whose journal is damaged",
    world: { merges: [{ id: "a", into: null, isHeld: false }] },
    says: /unknown folder stopped half-way/,
  },
  {
    title: "a dead process in a queue",
    world: { tickets: [{ path: "/home/locks/x/1", isHeld: false }] },
    says: /A dead process still has a ticket/,
  },
  {
    title: "a process of a closed delegation",
    world: { processes: new Map([["a", [7, 8]]]) },
    delegations: [delegation("a", "failed")],
    says: /closed, but its processes still run: 7, 8/,
  },
];

/** What is right while somebody is at work, and wrong when all have let go. */
const underWay: readonly Scene[] = [
  { title: "a copy that is being made", world: { copies: [copy("a", true)] } },
  {
    title: "a copy that is being removed",
    world: { copies: [copy("a")] },
    delegations: [delegation("a", "completed", { copyId: "a", closedAt: now - 1000 })],
  },
  { title: "the rest of a copy", world: { strays: [{ path: "/x", since: now - 1000 }] } },
  {
    title: "a copy that was made after the look",
    world: {},
    delegations: [delegation("a", "open", { copyId: "a", createdAt: now })],
  },
  { title: "a merge", world: { merges: [{ id: "a", into: "/src", isHeld: true }] } },
  { title: "a live process in a queue", world: { tickets: [{ path: "/x", isHeld: true }] } },
  {
    title: "a process of an open delegation",
    world: { processes: new Map([["a", [7]]]) },
    delegations: [delegation("a", "open")],
  },
  {
    title: "a process of a delegation that the log does not have yet",
    world: { processes: new Map([["a", [7]]]) },
  },
];

/** What is right at any time. */
const right: readonly Scene[] = [
  { title: "nothing at all", world: {} },
  {
    title: "the copy of an open delegation",
    world: { copies: [copy("a")] },
    delegations: [inCopy("a", "open")],
  },
  {
    title: "the copy that a failed delegation left its work in",
    world: { copies: [copy("a")] },
    delegations: [inCopy("a", "failed")],
  },
  {
    title: "what is kept of it when its folder is removed",
    world: { copies: [{ ...copy("a"), hasFolder: false }] },
    delegations: [inCopy("a", "failed")],
  },
  {
    title: "a copy that a later delegation continued",
    world: { copies: [copy("a")] },
    delegations: [inCopy("a", "failed"), inCopy("b", "open", "a")],
  },
  {
    title: "a copy that work in another one was made of",
    world: { copies: [copy("a"), copy("b", false, "a")] },
    delegations: [inCopy("a", "completed"), inCopy("b", "failed")],
  },
  {
    title: "a failed or completed delegation without its copy",
    world: {},
    delegations: [inCopy("a", "failed"), inCopy("b", "completed")],
  },
  {
    title: "a copy of a delegation whose log is damaged",
    world: { copies: [copy("a")] },
    delegations: [delegation("a", "unclear")],
  },
];

const check = ({ world, delegations = [] }: Scene, settled: boolean) =>
  checkWorld({ ...empty, ...world }, delegations, { settled });

describe("checkWorld", () => {
  for (const scene of wrong) {
    it(`finds ${scene.title}`, () => {
      for (const settled of [false, true]) {
        const found = check(scene, settled);
        expect(found).toMatchObject([{ invariant: "I16", message: scene.says }].map(asExpected));
      }
    });
  }

  for (const scene of underWay) {
    it(`lets ${scene.title} be, as long as not everybody has let go`, () => {
      expect(check(scene, false)).toEqual([]);
      expect(check(scene, true)).toMatchObject([{ invariant: "I16" }]);
    });
  }

  for (const scene of right) {
    it(`has nothing against ${scene.title}`, () => {
      expect(check(scene, false)).toEqual([]);
      expect(check(scene, true)).toEqual([]);
    });
  }

  it("says whose it is", () => {
    const scene = { title: "", world: { copies: [copy("a")] } };
    const delegations = [inCopy("a", "failed"), inCopy("b", "completed", "a")];
    const found = check({ ...scene, delegations }, false);
    expect(found).toMatchObject([{ runId: "r1", delegationId: "b" }]);
  });
});

function asExpected({ invariant, message }: { invariant: string; message: RegExp }) {
  return { invariant, message: expect.stringMatching(message) };
}
