import { quote } from "../../control/records/shown-text.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import {
  agents,
  applyYaml,
  exportYaml,
  listAgents,
  registerAgent,
  setDescription,
  setProfile,
  setServers,
  setSkills,
  setTags,
  showAgent,
  unregisterAgent,
} from "./agent-commands.ts";
import { type AnyCommand, defineCommand, usageOf } from "./command.ts";
import { answerAsk, showInbox } from "./inbox-commands.ts";
import { pinAgent, showPins, unpinAgent } from "./pin-commands.ts";
import { showBudget, showSessions, showStatus, showTree } from "./run-commands.ts";
import { cancelWork, resumeWork, setWorkspace, tellAgent } from "./steer-commands.ts";
import { askOracle, orchestrate, pair, review, runWorkflow, spawnAgent } from "./work-commands.ts";

const mostLines = 200;

const showHelp = defineCommand<{ readonly words: string }>({
  name: "help",
  form: "[command]",
  about: "Lists the commands, or says what one of them takes.",
  completes: ["command"],
  parse: (rest) => ({
    words: rest
      .replace(/^\//, "")
      .split(/[ \t]+/)
      .join(" "),
  }),
  async execute({ words }, { commands }) {
    const found = commands.filter(
      ({ name }) => words === "" || name === words || name.startsWith(`${words} `),
    );
    if (found.length === 0) {
      const about = `There is no command ${quote(`/${words}`)}.`;
      throw new MandateError("usage", `${about} /help lists those that there are.`);
    }
    const lines = found.slice(0, mostLines).map((each) => `${usageOf(each)}: ${each.about}`);
    const more = found.length - lines.length;
    const rest = more > 0 ? [`… and ${more} more.`] : [];
    const reply = ["Commands:", ...lines, ...rest].join("\n");
    return { reply, data: found.map(describe) };
  },
});

function describe({ about, form, name, profile }: AnyCommand) {
  return { name, form, about, profile: profile ?? null };
}

/** All slash commands, on every surface. A new command needs a line here. */
export const commandTable: readonly AnyCommand[] = [
  showHelp,
  showStatus,
  showTree,
  showBudget,
  cancelWork,
  tellAgent,
  resumeWork,
  showSessions,
  setWorkspace,
  showInbox,
  answerAsk,
  askOracle,
  review,
  pair,
  orchestrate,
  spawnAgent,
  runWorkflow,
  agents,
  listAgents,
  showAgent,
  registerAgent,
  unregisterAgent,
  setDescription,
  setProfile,
  setSkills,
  setServers,
  setTags,
  pinAgent,
  unpinAgent,
  showPins,
  exportYaml,
  applyYaml,
];
