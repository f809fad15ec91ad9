import type { Command } from "./command.ts";

interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order in which a newcomer meets them. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  run: {
    summary: "give a task to an agent, and watch it delegate",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  chat: {
    summary: "talk with an agent at this terminal, and watch it delegate",
    load: async () => (await import("./commands/chat.ts")).chatCommand,
  },
  demo: {
    summary: "watch a parent and its children at work, without any key",
    load: async () => (await import("./demonstration/demo.ts")).demoCommand,
  },
  serve: {
    summary: "serve the HTTP API, streams of events and MCP to programs",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  worker: {
    summary: "work on what others start, on one machine of many",
    load: async () => (await import("./commands/worker.ts")).workerCommand,
  },
  mcp: {
    summary: "serve the tools of delegation to another program's agent, over MCP",
    load: async () => (await import("./commands/mcp.ts")).mcpCommand,
  },
  ls: {
    summary: "list runs",
    load: async () => (await import("./commands/ls.ts")).lsCommand,
  },
  tree: {
    summary: "show who delegated to whom, what each spent, how it ended",
    load: async () => (await import("./commands/show.ts")).treeCommand,
  },
  show: {
    summary: "show a run, or a delegation with its contract and receipt",
    load: async () => (await import("./commands/show.ts")).showCommand,
  },
  logs: {
    summary: "show what happened, event by event",
    load: async () => (await import("./commands/logs.ts")).logsCommand,
  },
  result: {
    summary: "print the result of a run or a delegation",
    load: async () => (await import("./commands/result.ts")).resultCommand,
  },
  inbox: {
    summary: "show what waits for an answer, and what you have not seen",
    load: async () => (await import("./commands/inbox.ts")).inboxCommand,
  },
  answer: {
    summary: "answer a question that an agent asked",
    load: async () => (await import("./commands/inbox.ts")).answerCommand,
  },
  cancel: {
    summary: "cancel a run or a delegation, with everything below it",
    load: async () => (await import("./commands/resume.ts")).cancelCommand,
  },
  resume: {
    summary: "resume what was paused, interrupted, cancelled or failed",
    load: async () => (await import("./commands/resume.ts")).resumeCommand,
  },
  sessions: {
    summary: "list, show, name and export what was said",
    load: async () => (await import("./commands/sessions.ts")).sessionsCommand,
  },
  diff: {
    summary: "show what a delegation changed in its own copy",
    load: async () => (await import("./commands/kept-work.ts")).diffCommand,
  },
  merge: {
    summary: "take over the changes that a failed delegation left",
    load: async () => (await import("./commands/kept-work.ts")).mergeCommand,
  },
  discard: {
    summary: "delete the changes that a failed delegation left",
    load: async () => (await import("./commands/kept-work.ts")).discardCommand,
  },
  agents: {
    summary: "show and change who can be delegated to by name, and what is pinned",
    load: async () => (await import("./commands/slash.ts")).agentsCommand,
  },
  command: {
    summary: "execute a chat command: /status, /oracle, /review, and what /help lists",
    load: async () => (await import("./commands/slash.ts")).commandCommand,
  },
  profiles: {
    summary: "show who an agent can be, check agent files, trust a project's own",
    load: async () => (await import("./commands/profiles.ts")).profilesCommand,
  },
  import: {
    summary: "turn other programs' agent files into profiles",
    load: async () => (await import("./commands/import.ts")).importCommand,
  },
  memory: {
    summary: "show what agents wrote down, share it or forget it",
    load: async () => (await import("./commands/memory.ts")).memoryCommand,
  },
  replay: {
    summary: "run a recorded run again from its log, or compare two",
    load: async () => (await import("./commands/replay.ts")).replayCommand,
  },
  fork: {
    summary: "go on from the middle of a run, with another profile or model",
    load: async () => (await import("./commands/fork.ts")).forkCommand,
  },
  token: {
    summary: "say who may talk to the server",
    load: async () => (await import("./commands/token.ts")).tokenCommand,
  },
  verify: {
    summary: "check that the log keeps its promises",
    load: async () => (await import("./commands/verify.ts")).verifyCommand,
  },
  prune: {
    summary: "remove runs that ended long ago, and keep a receipt of each",
    load: async () => (await import("./commands/prune.ts")).pruneCommand,
  },
  migrate: {
    summary: "copy the embedded database to Postgres",
    load: async () => (await import("./commands/migrate.ts")).migrateCommand,
  },
  init: {
    summary: "set a project up, or give the agent that you already have our tools",
    load: async () => (await import("./commands/init.ts")).initCommand,
  },
  folders: {
    summary: "show and change in which folders agents may work",
    load: async () => (await import("./commands/folders.ts")).foldersCommand,
  },
  doctor: {
    summary: "say what is configured on this machine, and what is missing",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
};
