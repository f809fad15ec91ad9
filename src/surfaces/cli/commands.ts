import type { Command } from "./command.ts";

/** What `help` says of each command, in groups, in the order in which a newcomer meets them. */
export const commandGroups = {
  "Work with agents": {
    run: "give a task to an agent, and watch it delegate",
    workflow: "run a workflow script, list, check and resume workflows",
    chat: "talk with an agent at this terminal, and watch it delegate",
    resume: "resume what was paused, interrupted, cancelled or failed",
    cancel: "cancel a run or a delegation, with everything below it",
    demo: "watch a parent and its children at work, without a key",
  },
  "See what happened": {
    ls: "list runs",
    tree: "show a run's agents as a tree: state, tokens, cost",
    show: "show a run, or a delegation with its contract and receipt",
    logs: "show the events of a run, one line each",
    result: "print the result of a run or a delegation",
    sessions: "list, show, rename and export conversations",
  },
  Decide: {
    inbox: "show questions that wait for you, and news",
    answer: "answer a question that an agent asked",
    diff: "show what a delegation changed in its own copy",
    merge: "merge the changes that a failed delegation left",
    discard: "delete the changes that a failed delegation left",
  },
  Agents: {
    agents: "show and change registered agents and pins",
    profiles: "list profiles, check agent files, trust project profiles",
    import: "turn other programs' agent files into profiles",
    memory: "show what agents saved, share it or forget it",
    "/COMMAND": "a chat command: /status, /oracle, /review and what /help lists",
  },
  "Dashboard and servers": {
    serve: "start the dashboard, the HTTP API and the MCP server",
    mcp: "serve the delegation tools to another program's agent, over MCP",
    gateway: "let another program use models under a budget, with your keys kept here",
    worker: "work on delegations from the queues of a shared database",
    workers: "list workers, drain one or all of a version, resume them",
    queues: "list queues, pause and resume them",
    limits: "show and set limits on model requests: rates, tokens, dollars a day",
    token: "manage who may use the server",
  },
  "The log": {
    verify: "check the log against its invariants",
    replay: "run a recorded run again from its log, or compare two runs",
    fork: "start a new run from the middle of another one",
    prune: "remove old runs, and keep a receipt of each",
    migrate: "copy the embedded database to Postgres, or back",
  },
  "Set up": {
    init: "set up a project, or add our tools to the agent that you already use",
    doctor: "show what is configured on this machine, and what is missing",
    config: "show the configuration that applies here, and where it comes from",
    folders: "show and change in which folders agents may work",
    completion: "complete commands and names in your shell",
  },
} as const;

type Groups = typeof commandGroups;
type CommandName = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];

const loaders: Readonly<Record<CommandName, () => Promise<Command>>> = {
  run: async () => (await import("./commands/run.ts")).runCommand,
  workflow: async () => (await import("./commands/workflow.ts")).workflowCommand,
  chat: async () => (await import("./commands/chat.ts")).chatCommand,
  demo: async () => (await import("./demonstration/demo.ts")).demoCommand,
  gateway: async () => (await import("./commands/gateway.ts")).gatewayCommand,
  serve: async () => (await import("./commands/serve.ts")).serveCommand,
  worker: async () => (await import("./commands/worker.ts")).workerCommand,
  workers: async () => (await import("./commands/fleet.ts")).workersCommand,
  queues: async () => (await import("./commands/fleet.ts")).queuesCommand,
  limits: async () => (await import("./commands/fleet.ts")).limitsCommand,
  mcp: async () => (await import("./commands/mcp.ts")).mcpCommand,
  ls: async () => (await import("./commands/ls.ts")).lsCommand,
  tree: async () => (await import("./commands/show.ts")).treeCommand,
  show: async () => (await import("./commands/show.ts")).showCommand,
  logs: async () => (await import("./commands/logs.ts")).logsCommand,
  result: async () => (await import("./commands/result.ts")).resultCommand,
  inbox: async () => (await import("./commands/inbox.ts")).inboxCommand,
  answer: async () => (await import("./commands/inbox.ts")).answerCommand,
  cancel: async () => (await import("./commands/resume.ts")).cancelCommand,
  resume: async () => (await import("./commands/resume.ts")).resumeCommand,
  sessions: async () => (await import("./commands/sessions.ts")).sessionsCommand,
  diff: async () => (await import("./commands/kept-work.ts")).diffCommand,
  merge: async () => (await import("./commands/kept-work.ts")).mergeCommand,
  discard: async () => (await import("./commands/kept-work.ts")).discardCommand,
  agents: async () => (await import("./commands/slash.ts")).agentsCommand,
  "/COMMAND": async () => (await import("./commands/slash.ts")).slashCommand,
  profiles: async () => (await import("./commands/profiles.ts")).profilesCommand,
  import: async () => (await import("./commands/import.ts")).importCommand,
  memory: async () => (await import("./commands/memory.ts")).memoryCommand,
  replay: async () => (await import("./commands/replay.ts")).replayCommand,
  fork: async () => (await import("./commands/replay.ts")).forkCommand,
  token: async () => (await import("./commands/token.ts")).tokenCommand,
  verify: async () => (await import("./commands/verify.ts")).verifyCommand,
  prune: async () => (await import("./commands/database.ts")).pruneCommand,
  migrate: async () => (await import("./commands/database.ts")).migrateCommand,
  init: async () => (await import("./commands/init.ts")).initCommand,
  config: async () => (await import("./commands/config.ts")).configCommand,
  completion: async () => (await import("./help/completion.ts")).completionCommand,
  folders: async () => (await import("./commands/folders.ts")).foldersCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
};

interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Every command by its name; chat commands, which begin with a slash, are one of them. */
export const commands: Readonly<Record<string, CommandEntry>> = Object.fromEntries(
  Object.values(commandGroups)
    .flatMap((group) => Object.entries(group) as [CommandName, string][])
    .map(([name, summary]) => [name, { summary, load: loaders[name] }]),
);

/** The command of that name. Every chat command is one; `command` is the older name for them. */
export function commandNamed(word: string): CommandEntry | undefined {
  const name = word.startsWith("/") || word === "command" ? "/COMMAND" : word;
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}
