import type { RunState } from "./run-state.ts";

/** What lists of runs show of the contract of the root, beside what `run.started` contains. */
export interface RootFacts {
  readonly profile: string | null;
  /** `provider/model`, as the root was created with. */
  readonly model: string | null;
  /** The id of the principal that started the run. */
  readonly startedBy: string | null;
}

/** The facts of a run whose root was not created yet, or whose contract is damaged. */
export const noRootFacts: RootFacts = { profile: null, model: null, startedBy: null };

export function rootIdOf({ delegations }: Pick<RunState, "delegations">): string | undefined {
  return delegations.values().find(({ depth, parentId }) => parentId === null && depth === 0)?.id;
}

/** Reads the stored text of a contract, which may be damaged. */
export function readRootFacts(contract: string): RootFacts {
  try {
    return rootFactsOf(JSON.parse(contract));
  } catch {
    return noRootFacts;
  }
}

export function rootFactsOf({ model, principal, profile }: Facts): RootFacts {
  const [provider, name] = [textOrNull(model?.provider), textOrNull(model?.model)];
  return {
    profile: textOrNull(profile?.id),
    model: provider !== null && name !== null ? `${provider}/${name}` : null,
    startedBy: textOrNull(principal?.id),
  };
}

/** The parts of a contract that lists show. A contract of an older version may lack some. */
interface Facts {
  readonly profile?: { readonly id?: unknown };
  readonly model?: { readonly provider?: unknown; readonly model?: unknown };
  readonly principal?: { readonly id?: unknown };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
