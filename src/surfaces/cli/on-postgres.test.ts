import { afterAll, expect, it } from "vitest";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { Desk } from "./desk.test-support.ts";

// The whole store is tried in `npm run test:all`; this is one delegation from end to end.
const desk = new Desk();
afterAll(() => desk.clear());

it("a run that delegates is kept in Postgres, and its log verifies", async () => {
  const url = await freshDatabase();
  try {
    const environment = { MANDATE_DATABASE_URL: url };
    const playbook = desk.write(
      "playbook.yaml",
      `version: 1
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: researcher, task: Count the boats } }]
  - when: { depth: 0 }
    text: "It said: {{last}}"
  - text: Twelve
`,
    );
    const run = await desk.type(["run", "--playbook", playbook, "Ask how many"], { environment });
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining("Twelve") });
    const runs = await desk.type(["ls", "--json"], { environment });
    expect(runs.out).toContain("Ask how many");
    expect(await desk.type(["verify"], { environment })).toMatchObject({ code: 0 });
  } finally {
    await dropDatabase(url);
  }
});
