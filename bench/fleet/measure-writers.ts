import { initRepository } from "../../src/testing/git-workspace.test-support.ts";
import { openProcessFleet } from "../../src/testing/process-fleet.test-support.ts";

/** Milliseconds for writers that each take so long, on two workers with ten places each. */
export async function measureWriters(
  { count, latencyMs }: { readonly count: number; readonly latencyMs: number },
  workspaces: "bundle" | "shared",
): Promise<number> {
  await using fleet = await openProcessFleet({ workers: 2, atOnce: 10, notes: false, workspaces });
  const { client, workspace } = fleet;
  initRepository(workspace, { "readme.txt": "here\n" });
  const time = async (writers: number, ms: number): Promise<number> => {
    const began = performance.now();
    const { result } = await client.engine.startRun({
      task: `fan ${writers} write ${ms}`,
      profile: "general",
      workspace,
    });
    const { closeReason, result: said, status } = await result;
    if (status !== "completed") throw new Error(`It ended as ${status} (${closeReason}): ${said}`);
    return performance.now() - began;
  };
  await time(2, 0);
  return await time(count, latencyMs);
}
