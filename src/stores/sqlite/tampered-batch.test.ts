import { expect, it } from "vitest";
import { alterDatabase, isOnPostgres } from "../../testing/alter-database.test-support.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";

it.skipIf(isOnPostgres)(
  "says that the database was changed where events cannot be read, and which",
  async () => {
    for (const events of ["{}", "[1]", "[[]]", '[["run.started",null,"x",{}]]', "[", "null"]) {
      await using first = await openEngine({
        profiles: [testProfile("a")],
        model: () => "done",
        breaks: ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I14", "I15"],
      });
      const { runId } = await first.run({ task: "go", profile: "a" });
      await first.store.close();
      const text = events.replaceAll("'", "''");
      await alterDatabase(
        first,
        `UPDATE event_batches SET events = '${text}' WHERE first_run_seq = 1`,
      );
      const second = await first.another({ model: () => "done" });
      await expect(second.store.readRun(runId)).rejects.toMatchObject({
        code: "database-unusable",
        message: expect.stringContaining(runId),
      });
    }
  },
);
