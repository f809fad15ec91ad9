import type { ChangedFile } from "../copies/describe-files.ts";
import type { KeptIn } from "./hand-over-commits.ts";

/** Why nothing was merged although nothing conflicts. */
export type RefusedIntegration =
  | "problems"
  | "repository"
  | "source-changed"
  | "changed-meanwhile"
  | "other-file-system"
  | "unwritable"
  | "check-failed";

interface NotMerged {
  /** Relative to the workspace. */
  readonly files: readonly string[];
  /** What, which, what next. */
  readonly sentence: string;
  /** Where the child's commit can be found; null when it made none. */
  readonly ref: string | null;
  readonly keptIn: KeptIn;
}

export type IntegrationResult =
  | {
      readonly status: "merged";
      /** `nothing`: the child changed nothing. `already`: the target had all of it. */
      readonly how: "fast-forward" | "three-way" | "already" | "nothing";
      /** The child's commit. */
      readonly child: string | null;
      /** What changed in the target, with the hashes of its own contents before and after. */
      readonly files: readonly ChangedFile[];
      /** On the person's branch, when that was asked for and possible. */
      readonly commit: string | null;
      readonly notCommitted?: string;
    }
  | ({ readonly status: "conflict" } & NotMerged)
  | ({ readonly status: "violation" } & NotMerged)
  | ({ readonly status: "refused"; readonly reason: RefusedIntegration } & NotMerged);

export type MergedResult = Extract<IntegrationResult, { status: "merged" }>;
