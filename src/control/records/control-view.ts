import type { ProfileLayer } from "../../agents/profiles/profile-layer.ts";
import type { ProfileSource, SourceContent } from "../../agents/profiles/profile-source.ts";
import type { ProfileProblem } from "../../agents/profiles/read-profile-file.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";
import type { AgentEntry } from "./agent-registry.ts";
import type { ControlPlane } from "./control-plane.ts";
import { layerOfRecord } from "./layer-of-record.ts";

/**
 * A cached copy of the control plane, for decisions that cannot wait for a read. Events of the log
 * mark it as stale.
 */
export class ControlView implements ProfileSource {
  readonly #plane: ControlPlane;
  readonly #forget: () => void;
  #agents: readonly AgentEntry[] = [];
  #byId: ReadonlyMap<string, AgentEntry> = new Map();
  #trustedHashes: ReadonlySet<string> = new Set();
  #trustedFiles: ReadonlySet<string> = new Set();
  #profiles: SourceContent = { layers: [], problems: [] };
  #isStale = true;
  #reading: Promise<void> | undefined;

  constructor(plane: ControlPlane, store: Pick<Store, "subscribe">) {
    this.#plane = plane;
    this.#forget = store.subscribe((events) => {
      if (events.some(({ type }) => type === "control.record_changed")) this.#isStale = true;
    });
  }

  /**
   * Reads the records again if they changed, or always; undefined when there is nothing to wait
   * for.
   */
  refresh(always = false): Promise<void> | undefined {
    if (!this.#isStale && !always) return this.#reading;
    this.#isStale = false;
    const reading = this.#read().finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
    return reading;
  }

  entry(agentId: string): AgentEntry | undefined {
    return this.#byId.get(agentId);
  }

  /** Returns the same list while nothing has changed. */
  all(): readonly AgentEntry[] {
    return this.#agents;
  }

  trustedHashes(): ReadonlySet<string> {
    return this.#trustedHashes;
  }

  /** The files whose content was trusted once, whatever they contain now. */
  trustedFiles(): ReadonlySet<string> {
    return this.#trustedFiles;
  }

  /** The profile records, which override the profiles of earlier sources. */
  read(): SourceContent {
    return this.#profiles;
  }

  close(): void {
    this.#forget();
  }

  async #read(): Promise<void> {
    try {
      const { registry } = await this.#plane.registry();
      this.#agents = registry.agents;
      this.#byId = new Map(registry.agents.map((entry) => [entry.agentId, entry]));
      const trusted = await this.#plane.trustedContent();
      this.#trustedHashes = new Set(trusted.map(({ hash }) => hash));
      this.#trustedFiles = new Set(trusted.map(({ file }) => file));
      this.#profiles = collect(await this.#plane.profileRecords());
    } catch (error) {
      // Read again at the next call; until then the previous values stay.
      this.#isStale = true;
      throw error;
    }
  }
}

function collect(records: Awaited<ReturnType<ControlPlane["profileRecords"]>>): SourceContent {
  const layers: ProfileLayer[] = [];
  const problems: ProfileProblem[] = [];
  for (const { resourceId: name, value } of records) {
    try {
      layers.push(layerOfRecord(name, value));
    } catch (error) {
      problems.push({ name, file: `record: profile/${name}`, message: messageOf(error) });
    }
  }
  return { layers, problems };
}
