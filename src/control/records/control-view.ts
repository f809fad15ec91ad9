import type { ProfileLayer } from "../../agents/profiles/profile-layer.ts";
import type { ProfileSource, SourceContent } from "../../agents/profiles/profile-source.ts";
import type { ProfileProblem } from "../../agents/profiles/read-profile-file.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";
import type { AgentEntry } from "./agent-registry.ts";
import type { ControlPlane } from "./control-plane.ts";
import { layerOfRecord } from "./layer-of-record.ts";

/**
 * The control plane as this process last read it, for those who cannot wait: who decides whether a
 * delegation may start does so in one step. The log says when something has changed.
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

  /** Reads again what has changed since, or always; undefined when there is nothing to wait for. */
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

  /** The same list as long as nothing has changed. */
  all(): readonly AgentEntry[] {
    return this.#agents;
  }

  trustedHashes(): ReadonlySet<string> {
    return this.#trustedHashes;
  }

  /** The places whose content was trusted once, whatever they hold now. */
  trustedFiles(): ReadonlySet<string> {
    return this.#trustedFiles;
  }

  /** Profiles that are records: the operators' last word on a name. */
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
      // What could not be read is read the next time; until then what was known stays.
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
