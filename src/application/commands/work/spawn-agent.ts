import { quote } from "../../../control/records/shown-text.ts";
import { defineCommand } from "../command.ts";
import { splitFirstWord } from "../parse-id.ts";
import { handleProblem } from "../split-fields.ts";
import { startWork } from "./start-work.ts";

const profileForm = /^[a-z0-9][a-z0-9_:.-]{0,127}$/;

export const spawnAgent = defineCommand<{ readonly agent: string; readonly task: string }>({
  name: "spawnagent",
  form: "<@agent|profile> <prompt>",
  about: "Gives a task to an agent or a profile by its name.",
  takesLines: true,
  completes: ["agent"],
  parse(rest) {
    const [agent, task] = splitFirstWord(rest);
    if (agent === "") return { problem: "The agent and its prompt are missing." };
    if (agent.startsWith("@")) {
      const problem = handleProblem(agent);
      if (problem !== undefined) return problem;
    } else if (!profileForm.test(agent)) {
      return { problem: `${quote(agent)} is neither a handle nor the name of a profile.` };
    }
    return task === "" ? { problem: "The prompt is missing." } : { agent, task };
  },
  execute: ({ agent, task }, { steering }, principal) =>
    startWork(steering, { profile: agent, task, command: "/spawnagent" }, principal),
});
