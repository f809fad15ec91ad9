// kill -9 of Mandate in the middle of a turn: nothing of the program is left, and the run is resumed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { require } from "./agent-cell.ts";
import type { Scenario } from "./scenarios.ts";

const lines = ["first", "second", "third"];

export const killed: Scenario = {
  name: "kill",
  about: "kill -9 of Mandate in a turn: no orphan after 5 s, resumed, and merged once",
  rounds: 5,
  async run(cell, round) {
    cell.model.plan = ({ returned }) => {
      const word = lines[returned.length];
      if (word === undefined) return { text: "All three are written." };
      return { line: `grep -qx ${word} made.txt 2>/dev/null || echo ${word} >> made.txt; echo ok` };
    };
    // At another request each time; that one is not answered in every second round.
    const at = 1 + (round % 4);
    cell.model.holdAt = round % 2 === 0 ? at : 0;
    const { child, ended } = cell.start(...cell.words());
    const first = await Promise.race([cell.model.arrived(at), ended]);
    require(first === undefined, `it ended before it was killed: ${first?.complaint}`);
    child.kill("SIGKILL");
    const took = await Promise.all([cell.requireGone(), ended]).then(([ms]) => ms);
    cell.model.holdAt = 0;
    const [{ id: runId }] = JSON.parse(await cell.mandate("ls", "--json")) as [{ id: string }];
    const { code, complaint, output } = await cell.start("resume", runId).ended;
    const events = await cell.events(runId);
    const merges = events.filter(({ type }) => type === "agent.worktree_merged").length;
    require(merges <= 1, `it was merged ${merges} times`);
    const loaded = events.filter(
      (one) => one.type === "agent.program_started" && one.payload.resumed === true,
    ).length;
    if (code !== 0) {
      const failed = events.some(({ type }) => type === "agent.subagent_failed");
      require(failed, `resume ended with ${code}, and no failure is recorded: ${complaint}${output}`);
      return { "ms to end": took, resumed: 0, failed: 1 };
    }
    const made = readFileSync(join(cell.project, "made.txt"), "utf8");
    require(made === `${lines.join("\n")}\n`, `made.txt is ${JSON.stringify(made)}`);
    require(merges === 1, "it was not merged");
    return { "ms to end": took, resumed: 1, loaded };
  },
};
