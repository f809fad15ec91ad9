import { quote } from "../../control/records/shown-text.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { applyYaml } from "./agents/apply-yaml.ts";
import { exportYaml } from "./agents/export-yaml.ts";
import { agents, listAgents } from "./agents/list.ts";
import { pinAgent } from "./agents/pin.ts";
import { showPins } from "./agents/pins.ts";
import { registerAgent } from "./agents/register.ts";
import { setDescription } from "./agents/set-description.ts";
import { setServers, setSkills } from "./agents/set-lists.ts";
import { setProfile } from "./agents/set-profile.ts";
import { setTags } from "./agents/set-tags.ts";
import { showAgent } from "./agents/show.ts";
import { unpinAgent } from "./agents/unpin.ts";
import { unregisterAgent } from "./agents/unregister.ts";
import { type AnyCommand, defineCommand, usageOf } from "./command.ts";
import { answerAsk } from "./inbox/answer.ts";
import { showInbox } from "./inbox/inbox.ts";
import { showBudget } from "./runs/budget.ts";
import { cancelWork } from "./runs/cancel.ts";
import { resumeWork } from "./runs/resume.ts";
import { showSessions } from "./runs/sessions.ts";
import { showStatus } from "./runs/status.ts";
import { tellAgent } from "./runs/tell.ts";
import { showTree } from "./runs/tree.ts";
import { setWorkspace } from "./runs/workspace.ts";
import { askOracle } from "./work/oracle.ts";
import { orchestrate } from "./work/orchestrate.ts";
import { pair } from "./work/pair.ts";
import { review } from "./work/review.ts";
import { spawnAgent } from "./work/spawn-agent.ts";

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

/** Every command of every surface that is ours. A new one is a file and a line here. */
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
