/** How a whole run ended. */
export type RunOutcome = "succeeded" | "failed" | "cancelled";
