import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Those that take longest, as far as is known: a file that is missing here is only begun later. */
const longest = [
  "dashboard/hostile.deep.test.ts",
  "src/stores/postgres/postgres-store.deep.test.ts",
  "src/surfaces/tui/chat.terminal.deep.test.ts",
  "src/engines/dbos/dbos-engine.deep.test.ts",
  "dashboard/delegation.deep.test.ts",
  "scripts/torture.deep.test.ts",
  "src/workspaces/git/integration/recover-integration.deep.test.ts",
  "dashboard/pages.deep.test.ts",
  "src/testing/faults/process-faults.deep.test.ts",
  "src/delegations/changes/remote-copy.deep.test.ts",
  "dashboard/connection.deep.test.ts",
  "dashboard/system.deep.test.ts",
  "src/surfaces/mcp/conformance.deep.test.ts",
  "src/testing/attacks/injected-instructions.deep.test.ts",
  "src/workspaces/git/copies/create-working-copy.deep.test.ts",
  "dashboard/dashboard.deep.test.ts",
  "src/tools/plan/plan-recovery.deep.test.ts",
  "bench/load.deep.test.ts",
  "src/testing/faults/postgres-faults.deep.test.ts",
  "src/stores/postgres/faults.deep.test.ts",
  "src/tools/documents/hostile-documents.deep.test.ts",
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
