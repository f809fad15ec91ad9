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
  /** Rules for calls that the project adds. They bind by themselves and lift no other rule. */
  readonly rules: readonly ToolRule[];
  readonly cut: readonly CutField[];
}

/**
 * What a project's layer may say about a profile that the person or the product already has: other
 * texts, and less of everything else. `own` is that profile with the values that hold where it says
 * nothing; a field that is absent there is inherited from the caller, so any list narrows it.
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

/** One rule for each field: a new field does not compile before it has one. Undefined: not taken. */
const fieldRules: { readonly [Key in keyof Required<ProfileFields>]: FieldRule<Key> } = {
  title: asWritten,
  description: asWritten,
  prompt: asWritten,
  opening: asWritten,
  metadata: asWritten,
  // A file that the profile's own rules keep it from reading must not arrive by its prompt.
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

/** What both name; an absent list of the profile's own inherits, and any list is less than that. */
function select(asked: Selection, own: Selection | undefined): Selection {
  return own === undefined ? asked : intersect(asked, own);
}

/** From the one that ends soonest to the one that lives longest. */
const interruptions: readonly string[] = ["cancel", "pause", "continue"];
const efforts: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const evidences: readonly string[] = ["none", "tool_calls", "files"];

/** Who answers is chosen among those that the profile's own policy names; amounts only shrink. */
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

/** What it hands on is at most what it hands on without the project: by default what it may use. */
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
 * A copy of its own is less than the caller's folder, and a part of that folder is less than all of
 * it. Where nothing is said a child that writes gets a copy, so anything but a copy could be more.
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

/** Words and keys that people know from elsewhere stay where they lead. */
function narrowTriggers(
  asked: Triggers,
  { triggers: own = {} }: ProfileFields,
): Triggers | undefined {
  return whole({
    slash: asked.slash?.filter((word) => own.slash?.includes(word)),
    hotkeys: asked.hotkeys?.filter((key) => own.hotkeys?.includes(key)),
  });
}

/** What has to be true at the end can be added, and none of it can be taken away. */
function narrowExit(asked: ExitRule, { exit: own = {} }: ProfileFields): ExitRule | undefined {
  const isFree = own.tools === undefined || own.tools.length === 0;
  const tools = isFree ? asked.tools : asked.tools?.filter((tool) => own.tools?.includes(tool));
  const isStrict = rank(evidences, asked.evidence) >= rank(evidences, own.evidence ?? "none");
  return whole({
    // None at all would let any final text end it.
    tools: tools?.length === 0 && !isFree ? undefined : tools,
    outputSchema: own.outputSchema === undefined ? asked.outputSchema : undefined,
    evidence: isStrict ? asked.evidence : undefined,
    // A reviewer is a child of its own, which the profile does not have without the project.
    review: JSON.stringify(own.review) === JSON.stringify(asked.review) ? asked.review : undefined,
  });
}

function least(asked: number | undefined, own: number | undefined): number | undefined {
  return asked === undefined || own === undefined ? asked : Math.min(asked, own);
}

function rank(order: readonly string[], value: string | undefined): number {
  return order.indexOf(value ?? order[0] ?? "");
}

/** Paths in profiles are relative to the workspace, and are compared as folders below one root. */
function rooted(path: string): string {
  return posix.join("/", path);
}

function unrooted(path: string): string {
  return path.slice(1) || ".";
}

/** Without the keys that say nothing; undefined when none is left. */
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
