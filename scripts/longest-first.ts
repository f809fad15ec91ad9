import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Those that take longest, as far as is known: a file that is missing here is only begun later. */
const longest = [
  "dashboard/hostile.test.ts",
  "src/stores/postgres/postgres-store.test.ts",
  "src/surfaces/tui/chat.terminal.test.ts",
  "src/engines/dbos/dbos-engine.test.ts",
  "dashboard/delegation.test.ts",
  "scripts/torture.test.ts",
  "src/workspaces/git/integration/recover-integration.test.ts",
  "dashboard/pages.test.ts",
  "src/testing/faults/process-faults.test.ts",
  "src/delegations/changes/remote-copy.test.ts",
  "dashboard/connection.test.ts",
  "dashboard/system.test.ts",
  "src/surfaces/mcp/conformance.test.ts",
  "src/testing/attacks/injected-instructions.test.ts",
  "src/workspaces/git/copies/create-working-copy.test.ts",
  "dashboard/dashboard.test.ts",
  "src/tools/plan/plan-recovery.test.ts",
  "bench/load.test.ts",
  "src/testing/faults/postgres-faults.test.ts",
  "src/stores/postgres/faults.test.ts",
  "src/tools/documents/hostile-documents.test.ts",
];

/** A long file that begins last is one that everybody else waits for. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
      return index === -1 ? longest.length : index;
    };
    return others.toSorted((one, other) => place(one) - place(other));
  }
}
