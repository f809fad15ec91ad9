import { expect, test } from "vitest";
import { type ConsentQuestion, decideConsent } from "./decide-consent.ts";

const personal = [
  { folder: "/home/anna", what: "your home folder" },
  { folder: "/home/anna/.local/share/mandate", what: "Mandate's own data" },
];

const project = "/home/anna/harbour";

function decide(question: Partial<ConsentQuestion> = {}) {
  return decideConsent({ folder: project, owner: 1, remembered: [], personal, ...question });
}

function remembered(folder: string, mode: "in-place" | "copy" | "read-only" = "in-place") {
  return { folder, mode, owner: 1 };
}

test("without an answer a person is asked, and without a person it is refused", () => {
  expect(decide({ canAsk: true })).toEqual({ kind: "ask" });
  expect(decide()).toMatchObject({
    kind: "refused",
    sentence: expect.stringContaining("--trust-folder"),
  });
});

test("an answer is taken, and replaces what was remembered", () => {
  const before = [remembered(project, "read-only")];
  expect(decide({ answer: "in-place", remembered: before })).toEqual({
    kind: "allowed",
    mode: "in-place",
    because: "answer",
  });
});

test("naming the folder is consent, and does not widen what a person answered", () => {
  expect(decide({ isNamed: true })).toMatchObject({ mode: "in-place", because: "name" });
  const before = [remembered(project, "read-only")];
  expect(decide({ isNamed: true, remembered: before })).toMatchObject({
    mode: "read-only",
    because: "memory",
  });
});

test("an answer covers the folders below it, by segments, and the nearest one decides", () => {
  const answers = [remembered(project), remembered(`${project}/vendor`, "read-only")];
  const modeIn = (folder: string): unknown => {
    const decision = decide({ folder, remembered: answers });
    return decision.kind === "allowed" ? decision.mode : decision.kind;
  };
  expect(modeIn(`${project}/src/deep`)).toBe("in-place");
  expect(modeIn(`${project}/vendor/lib`)).toBe("read-only");
  expect(modeIn(`${project}-evil`)).toBe("refused");
  expect(modeIn("/home/anna/other")).toBe("refused");
});

test("a folder that belongs to another user now is asked about again", () => {
  expect(decide({ owner: 2, remembered: [remembered(project)], canAsk: true })).toEqual({
    kind: "ask",
  });
});

test.each([
  ["/", "the whole file system"],
  ["/home", "your home folder"],
  ["/home/anna", "your home folder"],
  ["/home/anna/.local/share", "Mandate's own data"],
  ["/home/anna/.local/share/mandate", "Mandate's own data"],
])("%s needs force, whatever else is said", (folder, what) => {
  const said = { answer: "in-place", isNamed: true, canAsk: true } as const;
  const refused = decide({ folder, ...said, remembered: [remembered(folder)] });
  expect(refused).toMatchObject({ kind: "refused", sentence: expect.stringContaining(what) });
  expect(decide({ folder, force: true })).toEqual({
    kind: "allowed",
    mode: "in-place",
    because: "force",
  });
  expect(decide({ folder, force: true, answer: "read-only" })).toMatchObject({ mode: "read-only" });
});

test("an answer for a broad folder, however it came to be, covers nothing below it", () => {
  const broad = ["/", "/home", "/home/anna"].map((folder) => remembered(folder));
  expect(decide({ remembered: broad })).toMatchObject({ kind: "refused" });
});

test("force alone is no consent to an ordinary folder", () => {
  expect(decide({ force: true })).toMatchObject({ kind: "refused" });
});
