/**
 * What the calls of a tool do with information: untrusted input, private data, egress. An agent with
 * all three needs approval for egress. Every tool declares its exposure.
 */
export interface Exposure {
  /** The results of the tool can contain untrusted input. */
  readonly untrusted: boolean;
  /** The results can contain private data; `workspace`: only where there is a workspace. */
  readonly private: boolean | "workspace";
  /**
   * Whether its input can leave the machine. `granted_hosts`: to the hosts that the contract grants.
   * `address`: only as a request for the addresses in its `destinations`.
   */
  readonly wayOut: boolean | "granted_hosts" | "address";
}

/** A tool without any of the three. */
export const noExposure: Exposure = Object.freeze({
  untrusted: false,
  private: false,
  wayOut: false,
});

/** A tool about which nothing reliable is known. */
export const fullExposure: Exposure = Object.freeze({
  untrusted: true,
  private: true,
  wayOut: true,
});

/** What the first messages of a child may contain: see `Contract`. */
export type Carried = "untrusted" | "private";
