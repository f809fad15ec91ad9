/**
 * What the calls of a tool do with information: the three things that must not come together
 * unwatched in one agent. A tool declares them; contracts are judged by them.
 */
export interface Exposure {
  /** Its results can contain untrusted input. */
  readonly untrusted: boolean;
  /** Its results can contain private data; `workspace`: only where there is a workspace. */
  readonly private: boolean | "workspace";
  /**
   * What it is given can leave the machine; `any_host`: where the contract may reach every host;
   * `address`: nothing leaves but a request for the addresses that its `destinations` name.
   */
  readonly wayOut: boolean | "any_host" | "address";
}

/** A tool that hands nothing in and nothing out. */
export const noExposure: Exposure = Object.freeze({
  untrusted: false,
  private: false,
  wayOut: false,
});

/** Of what nothing is known that could be relied upon. */
export const fullExposure: Exposure = Object.freeze({
  untrusted: true,
  private: true,
  wayOut: true,
});

/** What a child was told may carry more than its own tools could bring: see `Contract`. */
export type Carried = "untrusted" | "private";
