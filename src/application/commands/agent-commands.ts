/** The `/agents` commands: they list, register and change the registered agents. */
import {
  type AgentEntry,
  descriptionProblem,
  sortAgents,
} from "../../control/records/agent-registry.ts";
import { requireRole } from "../../control/records/principal.ts";
import type { AgentChange } from "../../control/records/registry-record.ts";
import { oneLine } from "../../text.ts";
import {
  type AnyCommand,
  type CommandContext,
  type CommandDefinition,
  defineCommand,
  type UsageProblem,
} from "./command.ts";
import {
  handleProblem,
  isProblem,
  parseHandle,
  parseNothing,
  splitFields,
  splitNames,
} from "./parse-arguments.ts";

const listing: Omit<CommandDefinition<object>, "name"> = {
  form: "",
  about: "Lists the agents that can be delegated to.",
  parse: parseNothing,
  async execute(_given, context) {
    const { registry } = await context.controlPlane.registry();
    const sorted = sortAgents(registry.agents);
    const data = sorted.map((entry) => describeAgent(entry, context));
    if (sorted.length === 0) return { reply: "No agent profiles registered.", data };
    const lines = sorted.map(
      ({ agentId, profileId, description }) =>
        `- ${agentId} -> ${profileId}: ${oneLine(description)} ${modelLabel(profileId, context)}`,
    );
    return { reply: ["Agent profiles:", ...lines].join("\n"), data };
  },
};

export const agents = defineCommand({ name: "agents", ...listing });
export const listAgents = defineCommand({ name: "agents list", ...listing });

/** `[provider/model]`, or the reason why no model can be named. */
function modelLabel(profileId: string, context: CommandContext): string {
  const profile = context.describeProfile(profileId);
  if (profile === undefined) return "[missing profile]";
  return `[${profile.model ?? "default model"}]`;
}

/** An entry of the registry for programs. */
function describeAgent(entry: AgentEntry, context: CommandContext) {
  const profile = context.describeProfile(entry.profileId);
  return { ...entry, profileExists: profile !== undefined, model: profile?.model ?? null };
}

export const showAgent = defineCommand({
  name: "agents show",
  form: "@agent",
  about: "Shows one agent: its profile, and what may be forwarded to it.",
  completes: ["handle"],
  parse: parseHandle,
  async execute({ agentId }: { readonly agentId: string }, context) {
    const entry = await context.controlPlane.entry(agentId);
    const { profileId, description, tags } = entry;
    const reply = [
      `Agent ${agentId}`,
      `Profile: ${profileId} ${modelLabel(profileId, context)}`,
      `Description: ${oneLine(description)}`,
      `Tags: ${listed(tags)}`,
      `Default forward skills: ${listed(entry.defaultForwardSkills)}`,
      `Allowed forward skills: ${listed(entry.allowedForwardSkills, "no restriction")}`,
      `Default MCP servers: ${listed(entry.defaultMcpServers)}`,
      `Allowed MCP servers: ${listed(entry.allowedMcpServers, "no restriction")}`,
    ].join("\n");
    return { reply, data: describeAgent(entry, context) };
  },
});

function listed(names: readonly string[] | undefined, absent = "none"): string {
  if (names === undefined) return absent;
  return names.length === 0 ? "none" : names.join(", ");
}

/**
 * Registers an agent. An entry without default lists forwards no skills and servers, so the profile's
 * own are written into it. An agent that is registered already keeps its lists and tags; with another
 * profile, it gets the default lists of that profile.
 */
export const registerAgent = defineCommand<
  Pick<AgentEntry, "agentId" | "profileId" | "description">
>({
  name: "agents register",
  form: "@agent | profile | description",
  about: "Registers an agent, or gives one another profile and description.",
  parse(rest) {
    const fields = splitFields(rest, 3);
    if (isProblem(fields)) return fields;
    const [agentId = "", profileId = "", description = ""] = fields;
    const wrong = problemOfDescription(description);
    return handleProblem(agentId) ?? wrong ?? { agentId, profileId, description };
  },
  async execute({ agentId, description, profileId }, context, principal) {
    const { controlPlane } = context;
    const { registry } = await controlPlane.registry();
    const before = registry.agents.find((each) => each.agentId === agentId);
    const isOther = before?.profileId !== profileId;
    const { servers = [], skills = [] } = context.describeProfile(profileId) ?? {};
    const isWritten = (list: readonly string[], known: readonly string[] | undefined): boolean =>
      isOther && (list.length > 0 || known !== undefined);
    const entry = {
      ...{ agentId, profileId, description },
      ...(isWritten(skills, before?.defaultForwardSkills) && { defaultForwardSkills: skills }),
      ...(isWritten(servers, before?.defaultMcpServers) && { defaultMcpServers: servers }),
    };
    const { version } = await controlPlane.register(entry, principal);
    return { reply: `Registered agent ${agentId} -> ${profileId}.`, data: { ...entry, version } };
  },
});

function problemOfDescription(description: string): UsageProblem | undefined {
  const problem = descriptionProblem(description);
  return problem === undefined ? undefined : { problem: `description: ${problem}` };
}

export const unregisterAgent = defineCommand({
  name: "agents unregister",
  form: "@agent",
  about: "Takes an agent out of the registry. Its profile stays.",
  completes: ["handle"],
  parse: parseHandle,
  async execute({ agentId }: { readonly agentId: string }, { controlPlane }, principal) {
    const { version } = await controlPlane.unregister(agentId, principal);
    return { reply: `Unregistered agent ${agentId}.`, data: { agentId, version } };
  },
});

interface SettingCommand {
  /** What the command changes: `tags`. */
  readonly what: string;
  /** The form of the arguments that follow the handle. */
  readonly form: string;
  readonly about: string;
  readonly completes?: readonly ["handle"];
  /** How many parts follow the handle at most; 1 if not given. */
  readonly mostParts?: number;
  read(parts: readonly string[]): AgentChange | UsageProblem;
}

/** A command that changes one field of a registered agent. */
function settingCommand(setting: SettingCommand): AnyCommand {
  const { about, completes, form, mostParts = 1, read, what } = setting;
  return defineCommand<{ readonly agentId: string; readonly change: AgentChange }>({
    name: `agents set-${what}`,
    form: `@agent | ${form}`,
    about,
    ...(completes && { completes }),
    parse(rest) {
      const fields = splitFields(rest, 2, 1 + mostParts);
      if (isProblem(fields)) return fields;
      const [agentId = "", ...parts] = fields;
      const change = read(parts);
      return handleProblem(agentId) ?? (isProblem(change) ? change : { agentId, change });
    },
    async execute({ agentId, change }, { controlPlane }, principal) {
      const { version } = await controlPlane.change(agentId, change, principal);
      const { profileId } = change;
      if (!profileId) {
        return { reply: `Updated ${what} of agent ${agentId}.`, data: { agentId, version } };
      }
      const reply = `Updated ${what} of agent ${agentId} -> ${profileId}.`;
      return { reply, data: { agentId, profileId, version } };
    },
  });
}

export const setDescription = settingCommand({
  what: "description",
  form: "description",
  about: "Changes what models are told about an agent.",
  completes: ["handle"],
  read: ([description = ""]) => problemOfDescription(description) ?? { description },
});

export const setProfile = settingCommand({
  what: "profile",
  form: "profile",
  about: "Leads an agent to another profile.",
  completes: ["handle"],
  read: ([profileId = ""]) => ({ profileId }),
});

export const setTags = settingCommand({
  what: "tags",
  form: "tag, tag",
  about: "Replaces the tags of an agent.",
  completes: ["handle"],
  read: ([tags = ""]) => ({ tags: [...splitNames(tags)] }),
});

export const setSkills = listsCommand("skills", {
  default: "defaultForwardSkills",
  allowed: "allowedForwardSkills",
});
export const setServers = listsCommand("servers", {
  default: "defaultMcpServers",
  allowed: "allowedMcpServers",
});

type ListKey =
  | "defaultForwardSkills"
  | "allowedForwardSkills"
  | "defaultMcpServers"
  | "allowedMcpServers";

/**
 * `default: a, b` is what the agent gets when a call names none, `allowed: c` all that may be forwarded
 * to it. Nothing after the colon means none; `allowed: *` removes the restriction. A list that is not
 * named stays as it is.
 */
function listsCommand(
  what: string,
  keys: Readonly<Record<"default" | "allowed", ListKey>>,
): AnyCommand {
  return settingCommand({
    what,
    form: "default: a, b | allowed: a, b, c",
    about: `Says which ${what} an agent gets by default, and which may be forwarded to it at all.`,
    mostParts: 2,
    read(lists) {
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
    },
  });
}

export const exportYaml = defineCommand({
  name: "agents export-yaml",
  form: "",
  about: "Prints the registry as YAML that apply-yaml takes; for operators, profiles and pins too.",
  parse: parseNothing,
  async execute(_given, { controlPlane }, principal) {
    const document = await controlPlane.exportDocument(principal);
    const { stringify } = await import("yaml");
    // Without anchors, and without line breaks that the text does not have.
    const reply = stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
    return { reply, data: document };
  },
});

/** Everything after the first white space is the document, with its own lines and blanks. */
export const applyYaml = defineCommand<{ readonly text: string }>({
  name: "agents apply-yaml",
  form: "<YAML>",
  about: "Makes the control plane what a document says, as a whole or not at all.",
  takesRawText: true,
  parse: (text) => ({ text }),
  async execute({ text }, { controlPlane }, principal) {
    // Before the document is parsed, so that a caller without the role learns nothing about it.
    requireRole("apply", principal);
    const { parseYaml } = await import("../../agents/documents/read-yaml.ts");
    const { value } = parseYaml(text, "apply-yaml");
    // The value is passed on as JSON text: a document that is a single string must not be parsed once more.
    const applied = await controlPlane.apply(JSON.stringify(value), principal);
    const { agents: registered, profiles, pins } = applied;
    const reply = `Applied: agents ${registered}, profiles ${profiles}, pins ${pins}.`;
    return { reply, data: applied };
  },
});
