import { expect, test } from "vitest";
import { narrowLayer } from "./narrow-layer.ts";
import type { ProfileFields } from "./profile.ts";

const of = (runner: ProfileFields["runner"]): ProfileFields =>
  runner === undefined ? {} : { runner };

const asked: readonly ProfileFields["runner"][] = [
  { agent: "claude-code" },
  { agent: "claude-code", login: "own" },
  { agent: "codex" },
  { acp: ["./evil"] },
];

test("a project's layer neither adds a program nor changes it, nor its login", () => {
  const own: readonly ProfileFields["runner"][] = [
    undefined,
    { agent: "claude-code" },
    { agent: "claude-code", login: "own" },
    { acp: ["/usr/bin/agent"] },
  ];
  for (const mine of own) {
    for (const theirs of asked) {
      const { cut, fields } = narrowLayer(of(mine), of(theirs));
      const isSame = JSON.stringify(theirs) === JSON.stringify(mine);
      expect([mine, theirs, fields.runner]).toEqual([mine, theirs, isSame ? mine : undefined]);
      expect(cut.length > 0).toBe(!isSame);
    }
  }
});
