import { posix } from "node:path";
import { intersect, type Selection } from "../../contracts/selection.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { intersectRoots, isBelow } from "../../contracts/write-roots.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type {
  CutField,
  ExitRule,
  MayDelegate,
  ModelPolicy,
  ProfileFields,
  ProfileLimits,
  Triggers,
  WorkspacePolicy,
} from "./profile.ts";
import { defaultBootstrapFiles } from "./profile-hash.ts";

export interface NarrowedLayer {
  readonly fields: ProfileFields;
  /** Tool rules that the project adds. They are checked separately, and lift no other rule. */
  readonly rules: readonly ToolRule[];
  readonly cut: readonly CutField[];
}

/**
 * Narrows a project's layer by the profile that the person or the product already has. Texts may
 * differ; everything else may only allow less. `own` is that profile with the defaults filled in. A
 * field that is absent in `own` is inherited from the caller, so any list narrows it.
 */
export function narrowLayer(own: ProfileFields, project: ProfileFields): NarrowedLayer {
  const fields: Record<string, unknown> = {};
  const cut: CutField[] = [];
  for (const key of Object.keys(fieldRules) as (keyof ProfileFields)[]) {
    const asked = project[key];
    if (asked === undefined || key === "toolRules") continue;
    const kept = narrowField(key, own, project);
    if (kept !== undefined) fields[key] = kept;
    cut.push(...differences(key, asked, kept));
  }
  return { fields: fields as ProfileFields, rules: project.toolRules ?? [], cut };
}

type FieldRule<Key extends keyof ProfileFields> = (
  asked: NonNullable<ProfileFields[Key]>,
  own: ProfileFields,
) => ProfileFields[Key] | undefined;

/**
 * One rule for each field, so that a new field does not compile without a rule. Undefined: the
 * value is ignored.
 */
const fieldRules: { readonly [Key in keyof Required<ProfileFields>]: FieldRule<Key> } = {
  title: asWritten,
  description: asWritten,
  prompt: asWritten,
  opening: asWritten,
  metadata: asWritten,
  // A file that the profile's rules deny must not reach the agent through its prompt.
  systemPromptFile: (asked, own) => (asked === own.systemPromptFile ? asked : undefined),
  bootstrapFiles: (asked, own) => {
    const usual = own.bootstrapFiles ?? defaultBootstrapFiles;
    const kept = asked.filter((file) => usual.includes(file));
    return kept.length === 0 && asked.length > 0 ? undefined : kept;
  },
  capabilities: (asked, own) => {
    const kept = asked.filter((each) => (own.capabilities ?? ["subtask"]).includes(each));
    return kept.length === 0 ? undefined : kept;
  },
  model: narrowModel,
  // Another program, or its own login, is another way to work, not less of the same.
  runner: (asked, own) =>
    JSON.stringify(asked) === JSON.stringify(own.runner) ? asked : undefined,
  tools: (asked, own) => select(asked, own.tools),
  toolRules: () => undefined,
  skills: (asked, own) => select(asked, own.skills),
  mcpServers: (asked, own) => select(asked, own.mcpServers),
  servers: (asked, own) => {
    const same = Object.entries(asked).filter(([name, server]) => {
      const known = Object.hasOwn(own.servers ?? {}, name) ? own.servers?.[name] : undefined;
      return known !== undefined && JSON.stringify(known) === JSON.stringify(server);
    });
    return same.length === 0 ? undefined : Object.fromEntries(same);
  },
  scopes: (asked, own) => select(asked, own.scopes),
  network: (asked, own) => select(asked, own.network),
  waysOut: (asked, own) => select(asked, own.waysOut),
  mayDelegate: narrowMayDelegate,
  workspace: narrowWorkspace,
  limits: narrowLimits,
  triggers: narrowTriggers,
  exit: narrowExit,
  onParentInterrupt: (asked, own) => {
    const most = interruptions.indexOf(own.onParentInterrupt ?? "cancel");
    return interruptions.indexOf(asked) <= most ? asked : undefined;
  },
  hidden: (asked, own) => asked || own.hidden === true,
  disabled: (asked, own) => asked || own.disabled === true,
};

function narrowField<Key extends keyof ProfileFields>(
  key: Key,
  own: ProfileFields,
  project: ProfileFields,
): ProfileFields[Key] | undefined {
  const rule: FieldRule<Key> = fieldRules[key];
  const asked = project[key];
  return asked == null ? undefined : rule(asked, own);
}

function asWritten<Value>(asked: Value): Value {
  return asked;
}

/**
 * The intersection of both lists. An absent own list inherits, and any list allows less than that.
 */
function select(asked: Selection, own: Selection | undefined): Selection {
  return own === undefined ? asked : intersect(asked, own);
}

/** From the shortest life after an interrupt to the longest. */
const interruptions: readonly string[] = ["cancel", "pause", "continue"];
const efforts: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const evidences: readonly string[] = ["none", "tool_calls", "files"];

/** The model must be one that the profile's own policy names; amounts only shrink. */
function narrowModel(
  asked: ModelPolicy,
  { model: own = {} }: ProfileFields,
): ModelPolicy | undefined {
  const policy = new Set(
    [own.model, ...(own.fallbacks ?? []), ...(own.allow ?? [])].filter(
      (name) => name !== undefined,
    ),
  );
  const among = (names: readonly string[] | undefined) => names?.filter((name) => policy.has(name));
  const isKnown = asked.model !== undefined && policy.has(asked.model);
  const isLess =
    own.effort === undefined || rank(efforts, asked.effort) <= rank(efforts, own.effort);
  return whole({
    model: isKnown ? asked.model : undefined,
    pool: asked.pool !== undefined && asked.pool === own.pool ? asked.pool : undefined,
    fallbacks: among(asked.fallbacks),
    allow: among(asked.allow),
    contextWindow: least(asked.contextWindow, own.contextWindow),
    maxOutputTokens: least(asked.maxOutputTokens, own.maxOutputTokens),
    temperature: asked.temperature,
    topP: asked.topP,
    effort: isLess ? asked.effort : undefined,
  });
}

/**
 * What may be delegated is at most what may be delegated without the project: by default what the
 * profile may use.
 */
function narrowMayDelegate(asked: MayDelegate, own: ProfileFields): MayDelegate | undefined {
  const said = own.mayDelegate ?? {};
  const within = (key: keyof MayDelegate, used: Selection | undefined): Selection | undefined => {
    const wanted = asked[key];
    return wanted === undefined ? undefined : select(wanted, said[key] ?? used);
  };
  return whole({
    tools: within("tools", own.tools),
    skills: within("skills", own.skills),
    mcpServers: within("mcpServers", own.mcpServers),
    models: within("models", undefined),
    scopes: within("scopes", own.scopes),
    network: within("network", own.network),
    waysOut: within("waysOut", own.waysOut),
  });
}

function narrowWorkspace(
  asked: WorkspacePolicy,
  { workspace: own = {} }: ProfileFields,
): WorkspacePolicy | undefined {
  const roots = own.writeRoots;
  const placed = narrowPlace(asked, own);
  return whole({
    ...placed,
    allowWrites:
      asked.allowWrites === undefined ? undefined : asked.allowWrites && own.allowWrites !== false,
    writeRoots:
      asked.writeRoots === undefined || roots === undefined
        ? asked.writeRoots
        : intersectRoots(asked.writeRoots.map(rooted), roots.map(rooted)).map(unrooted),
    checks: asked.checks && [...new Set([...(own.checks ?? []), ...asked.checks])],
    approval: asked.approval === undefined ? undefined : asked.approval || own.approval === true,
  });
}

/**
 * A working copy allows less than the caller's folder, and a part of that folder less than all of
 * it. Without a setting a child that writes gets a copy, so any other setting could allow more.
 */
function narrowPlace(
  { folder, isolation }: WorkspacePolicy,
  own: WorkspacePolicy,
): Pick<WorkspacePolicy, "isolation" | "folder"> {
  const before = own.isolation;
  if (isolation === "sandbox" && before !== "custom") return { isolation };
  if (isolation === "shared" && before === "shared") return { isolation };
  if (isolation === "custom" && folder !== undefined) {
    const isPart = before === "shared" || (before === "custom" && isPartOf(folder, own.folder));
    if (isPart) return { isolation, folder };
  }
  return {};
}

function isPartOf(folder: string, whole: string | undefined): boolean {
  return whole !== undefined && isBelow(rooted(folder), rooted(whole));
}

function narrowLimits(
  asked: ProfileLimits,
  { limits: own = {} }: ProfileFields,
): ProfileLimits | undefined {
  return whole({
    tokens: least(asked.tokens, own.tokens),
    cost: least(asked.cost, own.cost),
    timeoutMs: least(asked.timeoutMs, own.timeoutMs),
    depth: least(asked.depth, own.depth),
    retries: least(asked.retries, own.retries),
    turns: least(asked.turns, own.turns),
    joinTokens: least(asked.joinTokens, own.joinTokens),
  });
}

/** Only words and keys that the profile already has: a project must not redirect others. */
function narrowTriggers(
  asked: Triggers,
  { triggers: own = {} }: ProfileFields,
): Triggers | undefined {
  return whole({
    slash: asked.slash?.filter((word) => own.slash?.includes(word)),
    hotkeys: asked.hotkeys?.filter((key) => own.hotkeys?.includes(key)),
  });
}

/** Exit conditions can be added, and none can be removed. */
function narrowExit(asked: ExitRule, { exit: own = {} }: ProfileFields): ExitRule | undefined {
  const isFree = own.tools === undefined || own.tools.length === 0;
  const tools = isFree ? asked.tools : asked.tools?.filter((tool) => own.tools?.includes(tool));
  const isStrict = rank(evidences, asked.evidence) >= rank(evidences, own.evidence ?? "none");
  return whole({
    // Without exit tools any final text would complete the delegation.
    tools: tools?.length === 0 && !isFree ? undefined : tools,
    outputSchema: own.outputSchema === undefined ? asked.outputSchema : undefined,
    evidence: isStrict ? asked.evidence : undefined,
    // A reviewer is an additional child, which the profile does not have without the project.
    review: JSON.stringify(own.review) === JSON.stringify(asked.review) ? asked.review : undefined,
  });
}

function least(asked: number | undefined, own: number | undefined): number | undefined {
  return asked === undefined || own === undefined ? asked : Math.min(asked, own);
}

function rank(order: readonly string[], value: string | undefined): number {
  return order.indexOf(value ?? order[0] ?? "");
}

/** Paths in profiles are relative to the workspace; they are compared as absolute paths. */
function rooted(path: string): string {
  return posix.join("/", path);
}

function unrooted(path: string): string {
  return path.slice(1) || ".";
}

/** Removes undefined keys; undefined when none is left. */
function whole<Fields extends object>(
  fields: {
    readonly [Key in keyof Fields]: Fields[Key] | undefined;
  },
): Fields | undefined {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined);
  return said.length === 0 ? undefined : (Object.fromEntries(said) as Fields);
}

function differences(key: string, asked: unknown, kept: unknown): readonly CutField[] {
  if (!isRecord(asked) || key === "metadata") return differs(key, asked, kept);
  const taken = isRecord(kept) ? kept : {};
  return Object.entries(asked).flatMap(([inner, value]) =>
    differs(`${key}.${inner}`, value, taken[inner]),
  );
}

function differs(field: string, asked: unknown, kept: unknown): readonly CutField[] {
  if (asked === undefined || JSON.stringify(asked) === JSON.stringify(kept)) return [];
  return [{ field, asked, ...(kept !== undefined && { kept }) }];
}
