import type { Principal } from "../../control/records/principal.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Runtime } from "../../runtime.ts";
import type { Io } from "../cli/io.ts";

/** Where a chat takes place, and what was agreed for it. */
export interface ChatSetting {
  readonly runtime: Runtime;
  readonly io: Io;
  readonly workspace: string;
  /** Of new sessions. */
  readonly profile: string;
  readonly modelNotice: string;
  readonly modelOverride: string | undefined;
  readonly readOnly: boolean;
  /** The name under which the runtime knows this place. */
  readonly place: string;
  readonly maxTokens: number | undefined;
  readonly maxCost: number | undefined;
  readonly principal: Principal;
  /** Has a process of its own work on a run, once this one has let go of it. */
  readonly detach: (run: Pick<RunState, "id" | "workspace">) => Promise<unknown>;
}
