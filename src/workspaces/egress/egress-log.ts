import type { EgressRecord } from "./egress-proxy.ts";

/** The connections to one host, as the log of a run stores them. */
export interface EgressEvidence extends EgressRecord {
  readonly times: number;
}

/** Different hosts and outcomes that are told apart; others are counted together. */
const mostEntries = 50;
/** Names have at most 253 characters; a program can ask for longer ones. */
const longestHost = 260;
const elsewhere = "(others)";

/** Collects the connections of one sandbox until they are taken. */
export class EgressLog {
  #entries = new Map<string, EgressEvidence>();

  add({ host: asked, refused }: EgressRecord): void {
    const host = asked.slice(0, longestHost);
    const isKnown = this.#entries.has(keyOf(host, refused));
    const named = isKnown || this.#entries.size < mostEntries ? host || "(no host)" : elsewhere;
    const key = keyOf(named, refused);
    const times = (this.#entries.get(key)?.times ?? 0) + 1;
    this.#entries.set(key, { host: named, ...(refused !== undefined && { refused }), times });
  }

  /** What came since the last time; undefined: nothing. */
  take(): readonly EgressEvidence[] | undefined {
    if (this.#entries.size === 0) return undefined;
    const taken = [...this.#entries.values()];
    this.#entries = new Map();
    return taken;
  }
}

function keyOf(host: string, refused: string | undefined): string {
  return `${refused ?? ""} ${host || "(no host)"}`;
}

/** A sentence for the agent; undefined: every connection was made. */
export function describeRefused(
  connections: readonly EgressEvidence[] | undefined,
): string | undefined {
  const refused = connections?.filter((each) => each.refused !== undefined) ?? [];
  if (refused.length === 0) return undefined;
  const shown = refused.slice(0, 10).map(({ host, refused: rule }) => `${host} (${rule})`);
  const more = refused.length > 10 ? `, and ${refused.length - 10} more` : "";
  return `Not reached: ${shown.join(", ")}${more}.`;
}
