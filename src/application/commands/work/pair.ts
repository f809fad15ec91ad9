import { watchingCommand } from "./watching-command.ts";

export const pair = watchingCommand({
  name: "pair",
  profile: "pair",
  about: "Has a pair programmer watch what runs, or no longer, or gives it a question to explore.",
  takesTask: true,
});
