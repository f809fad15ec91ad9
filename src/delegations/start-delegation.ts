import { type Contract, externalProvider, mayDelegate } from "../contracts/contract.ts";
import {
  type Ceiling,
  type Granted,
  type NarrowingRules,
  narrow,
  type ProfileClaims,
} from "../contracts/narrow.ts";
import type { ReceiptLine } from "../contracts/receipt.ts";
import type { NewEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import type { DelegationRequest, DelegationWay } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Message } from "../ports/model.ts";
import { assemblePrompt } from "../profiles/assemble-prompt.ts";
import type { Profile } from "../profiles/profile.ts";
import { profileHash } from "../profiles/profile-hash.ts";
import { spawnProfilesBlock } from "../profiles/spawn-profiles-block.ts";
import { Transcript } from "../sessions/transcript.ts";
import { bindWorkspace } from "../workspaces/bind-workspace.ts";
import type { WorkspaceBinding } from "../workspaces/workspace-binding.ts";
import { Agent } from "./agent.ts";
import { requireOutputSchema } from "./judge-output.ts";
import { Account } from "./ledger.ts";
import type { LiveRun } from "./live-run.ts";
import { sessionProfile } from "./session-profile.ts";
import { work } from "./work.ts";

export interface Start {
  readonly run: LiveRun;
  /** Null: a person, or an agent of another program. */
  readonly caller: Agent | null;
  readonly request: DelegationRequest;
  readonly way: DelegationWay | "root" | "session";
  /** For a session: the program whose agent holds it. */
  readonly client?: string;
  readonly callId: string | null;
  /** Written in the same transaction, before the child exists. */
  readonly before?: readonly NewEvent[];
  /** The prompt of the delegation that is resumed, in place of one made anew. */
  readonly system?: string | undefined;
  /** The conversation that a resumed delegation continues. */
  readonly opening?: readonly Message[] | undefined;
}

export type Started =
  | { readonly agent: Agent; readonly created: Promise<unknown> }
  | { readonly rule: string; readonly reason: string };

/**
 * From a request to a child that is queued, under a contract: resolve who it is, narrow what it may
 * do, write both down. Whatever is refused leaves no row.
 */
export function startDelegation(start: Start): Started {
  const { run, caller, request, way } = start;
  const { parts } = run;
  if (typeof request.task !== "string" || request.task.trim() === "")
    return { rule: "task", reason: "task is required" };
  const profile = profileFor(start);
  if (profile === undefined) {
    return { rule: "profile", reason: `unknown profile '${request.profile ?? ""}'` };
  }
  if (run.agents.size >= parts.limits.maxChildren) {
    return {
      rule: "children",
      reason: `the run already has ${parts.limits.maxChildren} delegations, which is its limit`,
    };
  }
  const promise = unkeptPromise(profile);
  if (promise !== undefined) return { rule: "promise", reason: promise };
  const granted = narrow({
    ceiling: ceilingOf(run, caller),
    profile: claimsOf(run, profile),
    request: {
      tools: request.tools,
      forwardSkills: request.forwardSkills,
      modelOverride: request.modelOverride,
      tokens: request.maxTokens,
      timeMs: request.timeoutMs,
      depth: request.maxDepth,
    },
    rules: way === "root" || way === "session" ? rootRules(run) : parts.limits,
    mayNest: way !== "spawn",
    inheritsSpawning: caller === null,
  });
  if (!granted.allowed) return { rule: granted.rule, reason: granted.reason };
  const receipt = fallbackLine(request.profile, profile, start.client);
  try {
    return create(start, profile, { ...granted, receipt: [...receipt, ...granted.receipt] });
  } catch (error) {
    if (error instanceof MandateError) return { rule: error.code, reason: error.message };
    throw error;
  }
}

function create(start: Start, profile: Profile, granted: Granted): Started {
  const { run, caller, request, way } = start;
  const { parts } = run;
  if (profile.exit?.outputSchema) requireOutputSchema(profile.exit.outputSchema, profile.name);
  const workspace = workspaceOf(run, granted);
  const system = start.system ?? systemPrompt(start, profile, granted, workspace);
  const contract = contractOf(start, profile, granted, workspace, parts.store.keepText(system));
  const json = JSON.stringify(contract);
  const id = parts.store.newDelegationId();
  const contractHash = sha256(json);
  const agent = new Agent({
    id,
    run,
    parent: caller,
    contract,
    contractHash,
    system,
    account: new Account(
      caller?.account ?? run.account,
      contract.budget.tokens,
      contract.budget.cost,
    ),
    transcript: new Transcript(start.opening ?? openingOf(contract)),
    workspace,
    createdAt: parts.clock.now(),
  });
  const created = run.append(
    [...(start.before ?? []), ...createdEvents(agent, request, start.callId, granted)],
    {
      contracts: { [id]: json },
    },
  );
  agent.willSettle(created);
  enlist(run, agent);
  if (caller === null) run.root = agent;
  if (way !== "session") queue(agent);
  return { agent, created };
}

/** Makes an agent known to its run. */
export function enlist(run: LiveRun, agent: Agent): void {
  run.agents.set(agent.id, agent);
  if (agent.parent === null) run.topLevel.push(agent);
  else {
    agent.parent.children ??= [];
    agent.parent.children.push(agent);
  }
}

/** Waits for a slot and then works; a child that ended meanwhile lets the slot go on. */
export function queue(agent: Agent): void {
  const { scheduler } = agent.run.parts;
  scheduler.enter(() => {
    if (agent.isEnding || agent.run.lost) {
      scheduler.leave();
      return;
    }
    agent.hasSlot = true;
    void work(agent).finally(() => agent.giveSlot());
  });
}

/** The root agent's limits are those of the whole run: what it may use, all below it share. */
function rootRules({ parts: { limits }, account, grant }: LiveRun): NarrowingRules {
  return {
    ...limits,
    defaultTokens: account.cap,
    maxTokens: account.cap,
    defaultTimeMs: grant.timeMs,
    // The model of another program's agent is not ours to allow.
    allowsModel: (name) => name.startsWith(`${externalProvider}/`) || limits.allowsModel(name),
  };
}

function profileFor({ client, request, run, way }: Start): Profile | undefined {
  if (client !== undefined) return sessionProfile(client);
  // A job without a profile is nobody in particular: its caller's tools, and the default files.
  const isUnnamed = way === "spawn" && request.profile === undefined;
  const wasUnnamed = request.resumedFrom !== undefined && request.profile === unnamedProfile.name;
  if (isUnnamed || wasUnnamed) return unnamedProfile;
  return findProfile(run, request.profile ?? "general");
}

const unnamedProfile: Profile = {
  name: "spawn",
  description: "A job without a profile",
  capabilities: ["subtask"],
  prompt: "",
  origin: "spawn",
};

function findProfile(run: LiveRun, name: string): Profile | undefined {
  const { profiles, limits } = run.parts;
  const found = profiles.get(name);
  if (found !== undefined || limits.onUnknownProfile === null) return found;
  return profiles.get(limits.onUnknownProfile);
}

/** What a profile asks for and this version cannot keep is refused, never taken for less. */
function unkeptPromise({ name, onParentInterrupt, workspace }: Profile): string | undefined {
  const isolation = workspace?.isolation ?? "shared";
  if (isolation !== "shared") {
    return `"${name}" asks for a workspace that is isolated as ${isolation}, which cannot be done yet. Leave it out, or say shared.`;
  }
  if (onParentInterrupt === undefined || onParentInterrupt === "cancel") return undefined;
  return `"${name}" asks to ${onParentInterrupt} when its caller is interrupted, which cannot be done yet. Leave it out, or say cancel.`;
}

/** An unknown name that the operator lets another agent stand in for is said, never hidden. */
function fallbackLine(
  asked: string | undefined,
  profile: Profile,
  client?: string,
): readonly ReceiptLine[] {
  if (client !== undefined || asked === undefined || asked === profile.name) return [];
  return [
    {
      field: "profile",
      requested: asked,
      granted: profile.name,
      reason: `there is no profile '${asked}'`,
    },
  ];
}

function claimsOf(run: LiveRun, profile: Profile): ProfileClaims {
  const { limits, model, workspace } = profile;
  const root = run.workspace;
  const roots = workspace?.writeRoots;
  return {
    name: profile.name,
    tools: profile.tools,
    skills: profile.skills,
    mcp_servers: profile.mcpServers,
    scopes: profile.scopes,
    network: profile.network,
    write_roots:
      workspace?.allowWrites === false
        ? []
        : roots && root !== null
          ? roots.map((path) => `${root}/${path}`)
          : undefined,
    model: model?.model ?? run.parts.models.defaultModel,
    modelAllow: model?.allow,
    mayDelegate: profile.mayDelegate && {
      ...(profile.mayDelegate.tools !== undefined && { tools: profile.mayDelegate.tools }),
      ...(profile.mayDelegate.skills !== undefined && { skills: profile.mayDelegate.skills }),
      ...(profile.mayDelegate.mcpServers !== undefined && {
        mcp_servers: profile.mayDelegate.mcpServers,
      }),
      ...(profile.mayDelegate.models !== undefined && { models: profile.mayDelegate.models }),
      ...(profile.mayDelegate.network !== undefined && { network: profile.mayDelegate.network }),
    },
    tokens: limits?.tokens,
    cost: limits?.cost,
    timeMs: limits?.timeoutMs,
    depth: limits?.depth,
  };
}

function ceilingOf(run: LiveRun, caller: Agent | null): Ceiling {
  if (caller === null) {
    const { grant } = run;
    // Whoever starts a run stands one level above its root.
    const depth = grant.depth + 1;
    return {
      authority: grant.authority,
      depth,
      tokens: run.account.unspent,
      cost: grant.cost,
      timeMs: grant.timeMs,
    };
  }
  return {
    authority: mayDelegate(caller.contract),
    depth: caller.contract.permissions.max_delegation_depth,
    tokens: caller.account.unspent,
    cost: caller.contract.budget.cost,
    timeMs: caller.timeLeft(),
  };
}

function workspaceOf(run: LiveRun, granted: Granted): WorkspaceBinding | null {
  if (run.workspace === null) return null;
  return bindWorkspace({
    root: run.workspace,
    isolation: "shared",
    allowWrites: granted.mayUse.write_roots.length > 0,
    writeRoots: granted.mayUse.write_roots,
    forbidden: run.parts.forbidden,
    guarded: run.parts.guarded,
  });
}

/** The prompt's stages and, for an agent that may delegate, whom it can delegate to. */
function systemPrompt(
  { run, request }: Start,
  profile: Profile,
  granted: Granted,
  workspace: WorkspaceBinding | null,
): string {
  const assemble = (): string => {
    const stages = assemblePrompt({ profile, workspace, systemPrompt: request.systemPrompt });
    if (!granted.canSpawn) return stages;
    const { profiles } = run.parts;
    const block = spawnProfilesBlock(profiles.names().flatMap((name) => profiles.get(name) ?? []));
    return block === "" ? stages : `${stages}\n\n${block}`;
  };
  // Without files and words of its own, a profile's prompt is the same every time.
  if (workspace !== null || request.systemPrompt !== undefined) return assemble();
  const known = granted.canSpawn ? delegatingPrompts : plainPrompts;
  let prompt = known.get(profile);
  if (prompt === undefined) {
    prompt = assemble();
    known.set(profile, prompt);
  }
  return prompt;
}

const delegatingPrompts = new WeakMap<Profile, string>();
const plainPrompts = new WeakMap<Profile, string>();

function contractOf(
  { run, caller, request }: Start,
  profile: Profile,
  granted: Granted,
  workspace: WorkspaceBinding | null,
  prompt: string,
): Contract {
  const { limits } = run.parts;
  const slash = granted.model.indexOf("/");
  const { exit, limits: own } = profile;
  return {
    version: 1,
    parent: {
      run_id: run.id,
      sub_agent_id: caller?.id ?? null,
      step_idx: run.steps++,
      depth: caller ? caller.depth + 1 : 0,
      task_prompt: run.task,
      goal_summary: caller?.contract.step.title ?? titleOf(run.task),
    },
    step: {
      title: request.title ?? titleOf(request.task),
      description: request.task,
      context: request.context ?? null,
      success_criteria: request.successCriteria ?? none,
    },
    profile: { id: profile.name, hash: profileHash(profile), prompt },
    model: {
      provider: granted.model.slice(0, slash),
      model: granted.model.slice(slash + 1),
      allow: granted.mayUse.models,
      max_output_tokens: profile.model?.maxOutputTokens ?? limits.maxOutputTokens,
      temperature: profile.model?.temperature ?? null,
    },
    principal: run.grant.principal,
    permissions: {
      allowed_tools: granted.mayUse.tools as readonly string[],
      can_spawn_children: granted.canSpawn,
      max_delegation_depth: granted.depth,
      skills: granted.mayUse.skills,
      mcp_servers: granted.mayUse.mcp_servers,
      scopes: granted.mayUse.scopes,
      write_roots: workspace?.writeRoots ?? none,
      network: granted.mayUse.network,
      may_delegate: granted.mayDelegate,
    },
    execution: {
      attempt_timeout_ms: granted.timeMs,
      max_retries: own?.retries ?? limits.maxRetries,
      close_on_completion: true,
    },
    outputs: {
      report_format: "markdown",
      report_path_pattern: caller
        ? caller.contract.outputs.report_path_pattern
        : workspace === null || run.readOnly
          ? null
          : limits.reportPathPattern,
    },
    budget: {
      tokens: granted.tokens,
      cost: granted.cost,
      reserve: Math.min(1000, Math.floor(granted.tokens / 20)),
    },
    workspace:
      workspace === null
        ? noWorkspace
        : {
            isolation: workspace.isolation,
            root: workspace.root,
            allow_writes: workspace.allowWrites,
            base: null,
            owns: none,
          },
    exit:
      exit === undefined
        ? noExitRule
        : {
            tools: exit.tools ?? none,
            output_schema: exit.outputSchema ?? null,
            evidence: exit.evidence ?? "none",
          },
    on_parent_interrupt: profile.onParentInterrupt ?? "cancel",
    join: { max_tokens: own?.joinTokens ?? limits.joinTokens },
    deadlines: {
      first_token: limits.deadlines.firstTokenMs,
      stall: limits.deadlines.stallMs,
      tool: limits.deadlines.toolMs,
      idle: limits.deadlines.idleMs,
      total: granted.timeMs,
    },
  };
}

// Parts that most contracts have in common are one object: a thousand siblings share them.
const none: readonly string[] = Object.freeze([]);
const noWorkspace: Contract["workspace"] = Object.freeze({
  isolation: "shared",
  root: null,
  allow_writes: false,
  base: null,
  owns: none,
});
const noExitRule: Contract["exit"] = Object.freeze({
  tools: none,
  output_schema: null,
  evidence: "none",
});

function createdEvents(
  { id, contract, contractHash }: Agent,
  request: DelegationRequest,
  callId: string | null,
  granted: Granted,
): NewEvent[] {
  const events: NewEvent[] = [
    {
      type: "agent.subagent_created",
      sub_agent_id: id,
      payload: {
        parent_id: contract.parent.sub_agent_id,
        call_id: callId,
        step_idx: contract.parent.step_idx,
        depth: contract.parent.depth,
        profile: contract.profile.id,
        title: contract.step.title,
        contract_hash: contractHash,
        ...(request.resumedFrom !== undefined && { resumed_from: request.resumedFrom }),
        ...(granted.receipt.length > 0 && { receipt: granted.receipt }),
      },
    },
  ];
  for (const line of granted.receipt) {
    if (line.reason === undefined) continue;
    if (line.field === "model") {
      const payload = { requested: String(line.requested), granted: String(line.granted) };
      events.push({ type: "agent.model_clamped", sub_agent_id: id, payload });
    } else if (line.field === "skills") {
      const payload = { requested: line.requested as string[], granted: line.granted as string[] };
      events.push({ type: "agent.skills_clamped", sub_agent_id: id, payload });
    }
  }
  return events;
}

/** The child's first message: its context and its task, and nothing of its caller's conversation. */
export function openingOf({ step }: Contract): string {
  const criteria = step.success_criteria.map((criterion) => `- ${criterion}`).join("\n");
  return [
    step.context === null ? "" : `Context:\n${step.context}`,
    `Task:\n${step.description}`,
    criteria === "" ? "" : `Success criteria:\n${criteria}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function titleOf(task: string): string {
  const [line = ""] = task.trim().split("\n", 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
