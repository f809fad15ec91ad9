import { startingCommand } from "./start-work.ts";

export const askOracle = startingCommand({
  name: "oracle",
  profile: "oracle",
  takes: "question",
  about: "Asks a senior adviser, who looks and changes nothing.",
});
