import {
  inRun,
  insert,
  move,
  patch,
  patchSeal,
  repeat,
  type SeededBug,
  withContract,
} from "./seeded-bug.test-support.ts";

/** A call that began and ended, in two events. */
function called(id: string, tool: string) {
  const about = { call_id: id, tool };
  return [
    { type: "agent.tool_started", payload: about },
    { type: "agent.tool_failed", payload: { ...about, error: "" } },
  ] as const;
}

/** Work that oversteps what was granted: what a runtime with one bug would write. */
export const forgedWork: readonly SeededBug[] = [
  inRun("rich", "a call begins twice", "I10", (events, find) =>
    repeat(events, find("agent.tool_started", "middle")),
  ),
  inRun("rich", "a call ends twice", "I10", (events, find) =>
    insert(events, find("agent.tool_completed", "asker"), called("call_1_1", "ask_user")[1]),
  ),
  inRun("cancelled", "a call never ends", "I10", (events, find) =>
    events.toSpliced(find("agent.tool_failed", "middle"), 1),
  ),
  inRun("rich", "a refused call runs all the same", "I10", (events, find) =>
    insert(events, find("agent.tool_denied", "greedy"), ...called("call_1_1", "list_files")),
  ),
  inRun("rich", "a tool runs that the model did not call", "I10", (events, find) =>
    insert(events, find("agent.tool_denied", "greedy"), ...called("own", "list_files")),
  ),
  inRun("remembered", "a memory comes from a call that saves none", "I10", (events, find) =>
    patch(events, find("agent.tool_started", "keeper"), { saves_memory: undefined }),
  ),
  withContract("a tool runs that the contract does not grant", "I10", "asker", (contract) => {
    contract.permissions.allowed_tools = [];
  }),
  withContract(
    "a child may save memories for all, and its parent may not hand that on",
    "I11",
    "noter",
    (contract) => {
      contract.permissions.memory = "shared";
    },
    "remembered",
  ),
  withContract(
    "a root saves for all that may save nothing",
    "I11",
    "keeper",
    (contract) => {
      contract.permissions.memory = "none";
    },
    "remembered",
  ),
  withContract("a child may use more than its parent hands on", "I11", "leaf", (contract) => {
    contract.permissions.allowed_tools.push("shell");
  }),
  withContract("a child may hand on more than its parent", "I11", "middle", (contract) => {
    contract.permissions.may_delegate.network = ["evil.example"];
  }),
  withContract("a child may write where its parent may not", "I11", "leaf", (contract) => {
    contract.permissions.write_roots = ["/"];
  }),
  withContract("one that may have no children has one", "I11", "middle", (contract) => {
    contract.permissions.can_spawn_children = false;
  }),
  withContract("a child may go as deep as its parent", "I11", "middle", (contract) => {
    contract.permissions.max_delegation_depth = 9;
  }),
  withContract("a child acts for somebody else", "I11", "leaf", (contract) => {
    contract.principal = { id: "root", role: "operator" };
  }),
  withContract("a child has more tokens than its parent", "I11", "leaf", (contract) => {
    contract.budget.tokens = 10_000_000;
  }),
  withContract("a child works in another folder than its parent", "I11", "leaf", (contract) => {
    contract.workspace.root += "-2";
  }),
  withContract("a part of the parent's folder lies beside it", "I11", "leaf", (contract) => {
    contract.workspace = { ...contract.workspace, isolation: "custom" };
    contract.workspace.root += "-2";
  }),
  withContract("a copy is promised and not there", "I11", "leaf", (contract) => {
    contract.workspace.isolation = "sandbox";
  }),
  inRun("rich", "a child is created before its parent starts", "I11", (events, find) =>
    move(events, find("agent.subagent_created", "leaf"), find("agent.subagent_started", "middle")),
  ),
  withContract("more is spent than the budget", "I12", "greedy", (contract) => {
    contract.budget.tokens = 1000;
  }),
  {
    ...withContract("more dollars are held back than it may cost", "I12", "priced", (contract) => {
      contract.budget.cost = 0.001;
    }),
    says: /^\$0 spent and \$0\.\d+ reserved exceed \$0\.001\.$/,
  },
  inRun("rich", "an answer has cost more than is settled", "I12", (events, find) =>
    patch(events, find("agent.model_turn", "priced"), {
      usage: { prompt: 10, completion: 10, cost: 9 },
    }),
  ),
  inRun("rich", "a request gives something back", "I12", (events, find) => {
    const usage = { prompt: -5, completion: 25, cost: 0.00018 };
    const turned = patch(events, find("agent.model_turn", "priced"), { usage });
    const settled = patch(turned, find("agent.budget_settled", "priced"), usage);
    return patchSeal(settled, find("agent.subagent_closed", "priced"), { usage });
  }),
  inRun("rich", "more is spent than the run has", "I12", (events, find) =>
    patch(events, find("run.started"), { budget: { tokens: 20_000 } }),
  ),
  inRun("rich", "a request leaves before it is reserved", "I12", (events, find) =>
    move(events, find("agent.model_turn", "greedy"), find("agent.budget_reserved", "greedy")),
  ),
  inRun("rich", "a request is settled twice", "I12", (events, find) => {
    const at = find("agent.budget_settled", "greedy");
    return patch(repeat(events, at), at + 1, { prompt: 0, completion: 0 });
  }),
  inRun("rich", "a request is not settled by what was reported", "I12", (events, find) => {
    const usage = { prompt: 0, completion: 0, cost: 0 };
    const settled = patch(events, find("agent.budget_settled", "failing"), usage);
    return patchSeal(settled, find("agent.subagent_closed", "failing"), { usage });
  }),
  inRun("cancelled", "a request leaves below a cancelled delegation", "I17", (events, find) => {
    const before = find("agent.budget_reserved", "sleeper");
    const interrupted = move(events, find("agent.tool_failed", "middle"), before);
    return move(interrupted, find("agent.subagent_failed", "middle"), before + 1);
  }),
  inRun("cancelled", "a request of one that rests leaves", "I17", (events, find) =>
    insert(events, find("agent.budget_reserved", "sleeper"), {
      type: "agent.paused",
      payload: { reason: "interrupt" },
    }),
  ),
];
