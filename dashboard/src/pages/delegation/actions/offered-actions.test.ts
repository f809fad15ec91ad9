import { describe, expect, it } from "vitest";
import { offeredActions } from "./offered-actions.ts";

const running = { status: "running", outcome: null, isInterrupted: false } as const;
const failed = { status: "closed", outcome: "failed", isInterrupted: false } as const;
const done = { status: "closed", outcome: "completed", isInterrupted: false } as const;
const change = { path: "a", change: "changed", lines: null } as const;
const kept = { source: "copy", files: [change] } as const;

const offered = (...given: Parameters<typeof offeredActions>): string =>
  Object.entries(offeredActions(...given))
    .filter(([, is]) => is)
    .map(([name]) => name)
    .join(" ");

describe("offeredActions", () => {
  it("offers what applies, and nothing to whoever may only look", () => {
    expect(offered(running, kept, true)).toBe("canCancel");
    expect(offered({ ...running, isInterrupted: true }, null, true)).toBe("canCancel canResume");
    expect(offered(failed, null, true)).toBe("canResume");
    expect(offered(failed, kept, true)).toBe("canResume canDecide");
    expect(offered(done, undefined, true)).toBe("");
    expect(offered(failed, kept, false)).toBe("");
  });

  it("offers no merge of what the log alone has, or of nothing", () => {
    expect(offered(failed, { ...kept, source: "log" }, true)).toBe("canResume");
    expect(offered(failed, { ...kept, files: [] }, true)).toBe("canResume");
  });
});
