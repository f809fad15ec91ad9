/** What streams may cost. The defaults are what the guide promises. */
export interface StreamLimits {
  /** So much of what happened last is kept for all clients together. */
  readonly ringBytes: number;
  /** A client that is further behind than this, and has taken nothing for `lagMs`, is dropped. */
  readonly lagBytes: number;
  readonly lagMs: number;
  /** One that is being told the past is dropped when it takes nothing for so long. */
  readonly stallMs: number;
  readonly heartbeatMs: number;
  /** How often to look for the ones above. */
  readonly sweepMs: number;
  readonly perPrincipal: number;
  readonly all: number;
}

export const defaultStreamLimits: StreamLimits = {
  ringBytes: 4 * 1024 * 1024,
  lagBytes: 2 * 1024 * 1024,
  // A burst puts everybody behind for some milliseconds: only who does not read is too slow.
  lagMs: 1000,
  stallMs: 30_000,
  heartbeatMs: 15_000,
  sweepMs: 500,
  perPrincipal: 64,
  all: 1024,
};
