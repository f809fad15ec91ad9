import { expect, it } from "vitest";
import { openEngine, testProfile } from "../testing/engine-fixture.ts";

it("keeps a log that holds, whatever keys a model gives its arguments", async () => {
  // One less than what ends an attempt.
  const keys = ["\\", "\n", '"', "\u0000"];
  await using mandate = await openEngine({
    profiles: [testProfile("speaker")],
    model: ({ caller }) => {
      const key = keys[caller.turn - 1];
      if (key === undefined) return "done";
      return {
        calls: [
          {
            tool: "list_files",
            input: Object.fromEntries([
              ["path", "."],
              [key, 1],
            ]),
          },
        ],
      };
    },
  });
  const { workspace } = mandate;
  const { events } = await mandate.run({ task: "go", profile: "speaker", workspace });
  const said = events.flatMap(({ payload }) => ("calls" in payload ? (payload.calls ?? []) : []));
  const seen = said.flatMap((call) => Object.keys((call as { input?: object }).input ?? {}));
  expect(seen.filter((key) => key !== "path")).toEqual(keys);
  // The checker looks at all of it when the engine is disposed of.
});
