import type { Contract } from "../contracts/contract.ts";

type Sections = { readonly [Section in keyof Contract]?: Partial<Contract[Section]> };

/**
 * A contract that allows little, for tests: only what matters to the test is written there.
 *
 * @example exampleContract({ permissions: { allowed_tools: ["read_file"] } });
 */
export function exampleContract(overrides: Sections = {}): Contract {
  const sections: Contract = {
    version: 1,
    parent: {
      run_id: "r000000",
      sub_agent_id: null,
      step_idx: 0,
      depth: 0,
      task_prompt: "test",
      goal_summary: "test",
    },
    step: { title: "test", description: "test", context: null, success_criteria: [] },
    profile: { id: "tester", hash: "", prompt: "" },
    model: {
      provider: "scripted",
      model: "test",
      allow: ["scripted/test"],
      max_output_tokens: 1000,
      temperature: null,
    },
    principal: { id: "local", role: "operator" },
    permissions: {
      allowed_tools: [],
      can_spawn_children: false,
      max_delegation_depth: 0,
      skills: [],
      mcp_servers: [],
      scopes: [],
      write_roots: [],
      network: [],
      may_delegate: null,
    },
    execution: { attempt_timeout_ms: 60_000, max_retries: 1, close_on_completion: true },
    outputs: { report_format: "markdown", report_path_pattern: null },
    budget: { tokens: 10_000, cost: null, reserve: 500 },
    workspace: { isolation: "shared", root: null, allow_writes: false, base: null, owns: [] },
    exit: { tools: [], output_schema: null, evidence: "none" },
    on_parent_interrupt: "cancel",
    join: { max_tokens: 1000 },
    deadlines: { first_token: 1000, stall: 1000, tool: 1000, idle: 1000, total: 60_000 },
  };
  const changed = Object.entries(overrides).map(([name, fields]) => {
    const section = sections[name as keyof Contract];
    return [name, typeof section === "object" ? { ...section, ...(fields as object) } : fields];
  });
  return { ...sections, ...Object.fromEntries(changed) } as Contract;
}
