import { startingCommand } from "./start-work.ts";

export const orchestrate = startingCommand({
  name: "orchestrate",
  profile: "orchestrator",
  takes: "goal",
  about:
    "Has a larger goal planned, carried out by several agents, and reviewed. Goals of one workspace wait for each other.",
  isGoal: true,
});
