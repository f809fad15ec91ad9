import { expect, it } from "vitest";
import { keyOfPlace, mayRemove, type PinRow, placesFor, sessionPlace } from "./pin-scopes.ts";

const workspaces = ["/srv/app"];
const ann = { id: "ann", role: "operator", allRuns: false, workspaces } as const;

const pin = (scope: PinRow["scope"], id: string | null): PinRow => {
  const about = { record: "", problem: null, version: 1, updatedBy: "x", updatedAt: 0 };
  return { scope, id, profileId: "writer", ...about };
};

it("offers operators themselves, the served folders and everybody, and viewers themselves", () => {
  expect(placesFor(ann).map(keyOfPlace)).toEqual([
    "user:ann",
    "workspace:/srv/app",
    "global",
    "session",
  ]);
  expect(placesFor({ ...ann, role: "viewer" }).map(keyOfPlace)).toEqual(["user:ann"]);
  expect(placesFor(undefined)).toEqual([]);
});

it("offers to remove what the server would let be removed", () => {
  const own = [pin("user", "ann"), pin("workspace", "/srv/app"), pin("session", "ann/talk")];
  const foreign = [pin("user", "bob"), pin("workspace", "/"), pin("session", "annabel/talk")];
  expect([...own, pin("global", null)].every((one) => mayRemove(one, ann))).toBe(true);
  expect(foreign.some((one) => mayRemove(one, ann))).toBe(false);
  expect(foreign.every((one) => mayRemove(one, { ...ann, role: "admin" }))).toBe(true);
  const viewer = { ...ann, role: "viewer" } as const;
  expect(own.filter((one) => mayRemove(one, viewer))).toEqual([pin("user", "ann")]);
});

it("takes a session of one's own by a name that can be seen", () => {
  expect(sessionPlace(ann, " talk ")?.id).toBe("ann/talk");
  for (const name of ["", "  ", "a\u202eb", "x".repeat(201)]) {
    expect(sessionPlace(ann, name), name).toBeUndefined();
  }
});
