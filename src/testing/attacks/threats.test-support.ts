/** One attack, and the tests that carry it out: `file > part of a title`, from the root. */
export interface Threat {
  readonly attack: string;
  readonly tests: readonly string[];
}

/** Every threat by its number. Tests whose title begins with `attack N:` count besides. */
export const threats: Readonly<Record<number, Threat>> = {
  1: {
    attack: "a tool that was not granted, or its alias",
    tests: [
      "src/tools/gate.test.ts > that is not the canonical one, to the letter, runs nothing",
      "src/tools/gate.test.ts > of a tool that the contract does not grant runs nothing",
    ],
  },
  2: {
    attack: "an empty or misspelt list of tools",
    tests: [
      "src/agents/profiles/parse-markdown-profile.test.ts > an absent list inherits, an empty one is none",
      "src/agents/foreign/never-wider.test.ts > in place of a restriction gives nothing more",
    ],
  },
  3: {
    attack: "a child that is wider than its caller",
    tests: [
      "src/contracts/narrow.test.ts > grants no more than the caller may hand on, at every depth",
    ],
  },
  4: {
    attack: "a model, a server or a skill that was not allowed",
    tests: [
      "src/tools/delegation/delegate-to-agent.test.ts > to the delegated profile's own model",
      "src/tools/delegation/delegate-to-agent.test.ts > are never more than the parent may hand on",
      "src/delegations/turns/mcp-servers.test.ts > reach a child only as far as its caller may hand them on",
    ],
  },
  5: {
    attack: "children without end",
    tests: [
      "src/delegations/start/depth.test.ts > may delegate in turn down to the configured depth",
      "src/delegations/start/depth.test.ts > stops at the number of delegations that a run may have",
      "src/delegations/turns/budget.test.ts > of the whole run is the limit for all of them together",
    ],
  },
  6: {
    attack: "siblings that race for a budget",
    tests: [
      "src/delegations/turns/budget-race.test.ts > never make the provider bill more than that",
      "src/delegations/turns/budget-race.test.ts > fifty children never overspend over the wire either",
    ],
  },
  7: {
    attack: "a command in what somebody else wrote",
    tests: [
      "src/application/commands/command-forgery.test.ts > changes nothing, wherever it stands",
      "src/surfaces/http/guard.test.ts > holds every operation to its role",
    ],
  },
  8: {
    attack: "a contract, the log or the configuration that is changed",
    tests: [
      "src/delegations/start/tampered-contract.test.ts > is refused at the next transition",
      "src/tools/gate-paths.test.ts > are not written by %s, there or not",
      "src/tools/shell/shell-escapes.deep.test.ts > what the next start obeys cannot be changed, moved or created",
    ],
  },
  9: {
    attack: "a path that only begins like the workspace",
    tests: [
      "src/workspaces/hostile-paths.test.ts > a twin with the same prefix is not",
      "src/tools/hostile-paths.deep.test.ts > every parameter of every tool that could be a path",
    ],
  },
  10: {
    attack: "links",
    tests: [
      "src/workspaces/hostile-paths.test.ts > no path of any shape reads or changes a canary",
      "src/workspaces/git/copies/collect-changes.deep.test.ts > links that leave the workspace are a problem",
      "src/tools/gate-paths.test.ts > is not written through by",
    ],
  },
  11: {
    attack: "a folder that is swapped in a race",
    tests: [
      "src/workspaces/swapped-folder.test.ts > swapped with a link in a race never lets a call out",
      "src/tools/files/swapped-folder.test.ts > while a folder is swapped with a link",
    ],
  },
  12: {
    attack: "another command inside of an allowed one",
    tests: [
      "src/tools/shell/shell-rules.test.ts > lets none of a thousand lines through",
      "src/tools/shell/shell-rules.test.ts > do not let them start anything else",
    ],
  },
  13: {
    attack: "an environment that an earlier command poisoned",
    tests: ["src/tools/shell/shell-tool.test.ts > begins with nothing that an earlier one set"],
  },
  14: {
    attack: "keys in the environment",
    tests: [
      "src/tools/shell/shell-escapes.deep.test.ts > no key of ours is anywhere in the environment",
      "src/tools/mcp/mcp-servers.test.ts > gets only the environment it needs",
    ],
  },
  15: {
    attack: "a way out of the working copy",
    tests: [
      "src/tools/shell/shell-escapes.deep.test.ts > does not reach another repository in 200 ways",
      "src/tools/shell/shell-escapes.deep.test.ts > nothing outside the write roots can be written",
    ],
  },
  16: {
    attack: "what git would run",
    tests: [
      "src/workspaces/git/hostile-repository.deep.test.ts > nothing that the source or a child planted is run",
      "src/workspaces/git/hostile-repository.deep.test.ts > what was planted does run when git is used without",
    ],
  },
  17: {
    attack: "a hostile repository",
    tests: [
      "src/workspaces/git/hostile-repository.deep.test.ts > a link in the place of a working copy leads nowhere",
      "src/workspaces/git/inspect-repository.deep.test.ts > a branch whose name begins with a dash does no harm",
      "src/workspaces/git/copies/repository-states.deep.test.ts > submodules run nothing",
      "src/workspaces/git/copies/repository-states.deep.test.ts > a bare repository among the files is copied",
    ],
  },
  18: {
    attack: "a cleanup that goes too far",
    tests: [
      "src/workspaces/git/copies/discard-working-copy.deep.test.ts > removing follows no link",
      "src/workspaces/git/copies/discard-working-copy.deep.test.ts > unmerged work is kept and reported by default",
    ],
  },
  19: {
    attack: "a process that outlives its delegation",
    tests: [
      "src/tools/shell/shell-processes.test.ts > ends with it, a daemon too",
      "src/tools/shell/shell-processes.deadline.test.ts > ends within five seconds of the delegation",
    ],
  },
  20: {
    attack: "a page or a stranger that talks to the server",
    tests: [
      "src/surfaces/http/guard.test.ts > refuses every operation to whoever comes from elsewhere",
      "src/surfaces/http/page/page-sessions.test.ts > of another site begins no session",
    ],
  },
  21: {
    attack: "an answer or a session of somebody else",
    tests: [
      "src/surfaces/mcp/http/many-clients.test.ts > keeps fifty clients with the same request ids apart",
      "src/surfaces/mcp/http/mcp-http-handler.test.ts > does not exist for another principal",
    ],
  },
  22: {
    attack: "an address that leads inside",
    tests: [
      "src/tools/web/web-boundary.test.ts > a name that leads inside is denied after it was looked up",
      "src/workspaces/egress/public-address.test.ts > no private IPv4 address passes in any spelling of a URL",
      "src/tools/mcp/mcp-http.test.ts > our headers do not go there",
    ],
  },
  23: {
    attack: "markup in what is shown",
    tests: ["dashboard/hostile.deep.test.ts > is text, fits and can be read"],
  },
  24: { attack: "injected instructions, and what they would send out", tests: [] },
  25: {
    attack: "parsers that run what they read",
    tests: [
      "src/agents/documents/front-matter.test.ts > an alias bomb and a tag of code become text, or nothing",
      "src/control/records/strict-json.test.ts > refuses __proto__, also in disguise",
    ],
  },
};
