import { expect, it } from "vitest";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";

const rules = (tool: string, action: "allow" | "ask" | "deny" = "deny") => ({
  toolRules: [{ tool, action }],
});

it("a rule that a slip would make hold for nothing keeps its profile from being started", async () => {
  const profiles = [
    testProfile("slipped", rules("shel")),
    testProfile("meant", rules("read_file")),
    testProfile("elsewhere", rules("browser_take_screenshot")),
    testProfile("served", rules("mcp__shel__*")),
    testProfile("lifted", rules("shel", "allow")),
  ];
  await using mandate = await openEngine({ profiles, model: () => "done" });
  await expect(mandate.run({ task: "go", profile: "slipped" })).rejects.toThrow(
    'A rule of "slipped" is about "shel", and there is no such tool. Did you mean "shell"?',
  );
  for (const profile of ["meant", "elsewhere", "served", "lifted"]) {
    expect((await mandate.run({ task: "go", profile })).result.status).toBe("completed");
  }
});
