import type { Forks } from "../../application/forks.ts";
import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Runtime } from "../../runtime.ts";

/** What a server serves: one runtime, and where its callers may work. */
export interface Host {
  readonly runtime: Runtime;
  readonly tokens: AccessTokens;
  /** Real paths. Runs are started in these folders or below them, and nowhere else. */
  readonly workspaces: readonly string[];
  readonly startedAt: number;
  /** Those whose middleware the runtime has; absent: children of forked runs work anew. */
  readonly forks?: Forks | undefined;
  /** Where this server can be reached, for links. */
  readonly origin: string;
}
