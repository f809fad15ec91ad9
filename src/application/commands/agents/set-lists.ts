import type { AgentChange } from "../../../control/records/registry-record.ts";
import { type AnyCommand, defineCommand, type UsageProblem } from "../command.ts";
import { handleProblem, isProblem, splitFields, splitNames } from "../split-fields.ts";

type ListKey =
  | "defaultForwardSkills"
  | "allowedForwardSkills"
  | "defaultMcpServers"
  | "allowedMcpServers";

export const setSkills = setLists("skills", "defaultForwardSkills", "allowedForwardSkills");
export const setServers = setLists("servers", "defaultMcpServers", "allowedMcpServers");

/**
 * `default: a, b` is what the agent gets unasked, `allowed: c` all that may be forwarded to it.
 * Nothing after the colon is none; `allowed: *` takes the restriction away, which has to be said in
 * so many characters. What is not named stays as it is.
 */
function setLists(what: string, defaults: ListKey, allowed: ListKey): AnyCommand {
  return defineCommand<{ readonly agentId: string; readonly change: AgentChange }>({
    name: `agents set-${what}`,
    form: "@agent | default: a, b | allowed: a, b, c",
    about: `Says which ${what} an agent gets by default, and which may be forwarded to it at all.`,
    parse(rest) {
      const fields = splitFields(rest, 2, 3);
      if (isProblem(fields)) return fields;
      const [agentId = "", ...lists] = fields;
      const change = parseLists(lists, { default: defaults, allowed });
      return handleProblem(agentId) ?? (isProblem(change) ? change : { agentId, change });
    },
    async execute({ agentId, change }, { controlPlane }, principal) {
      const { version } = await controlPlane.change(agentId, change, principal);
      return { reply: `Updated ${what} of agent ${agentId}.`, data: { agentId, version } };
    },
  });
}

function parseLists(
  lists: readonly string[],
  keys: Readonly<Record<"default" | "allowed", ListKey>>,
): AgentChange | UsageProblem {
  const change: Partial<Record<ListKey, readonly string[] | null>> = {};
  for (const list of lists) {
    const [, which = "", names = ""] = /^(default|allowed):(.*)$/.exec(list) ?? [];
    if (which !== "default" && which !== "allowed") {
      return { problem: 'A list begins with "default:" or "allowed:".' };
    }
    if (keys[which] in change) return { problem: `"${which}:" is there twice.` };
    const isUnrestricted = names.trim() === "*";
    if (isUnrestricted && which === "default") {
      return { problem: '"default:" takes names; only "allowed:" can be *.' };
    }
    change[keys[which]] = isUnrestricted ? null : splitNames(names);
  }
  return change;
}
