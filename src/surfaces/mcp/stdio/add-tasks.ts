import type { Server } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Runtime } from "../../../runtime.ts";
import type { DurableTasks } from "../tasks/durable-tasks.ts";
import { installTasks } from "../tasks/install-tasks.ts";
import { Tasks } from "../tasks/tasks.ts";
import { delegatingNames, longNames } from "../tools/tool-names.ts";

/** The tasks extension for a client over pipes, whose runtime is opened when something needs it. */
export function addTasks(
  server: Server,
  { owner, clock }: { readonly owner: Principal; readonly clock: Clock },
  open: () => Promise<Runtime>,
): void {
  installTasks(server, {
    owner,
    tasks: new Tasks({ durable: durableLater(open), clock }),
    isLong: (tool) => longNames.has(tool),
    delegates: (tool) => delegatingNames.has(tool),
  });
}

function durableLater(open: () => Promise<Runtime>): DurableTasks {
  let known: DurableTasks | undefined;
  const opened = async (): Promise<DurableTasks> => {
    const runtime = await open();
    const { delegationTasks } = await import("../tasks/delegation-tasks.ts");
    known ??= delegationTasks(runtime);
    return known;
  };
  return {
    idOf: (tool, delegationId) => `${tool}.${delegationId}`,
    read: async (...what) => (await opened()).read(...what),
    questions: async (...what) => (await opened()).questions(...what),
    answer: async (...what) => (await opened()).answer(...what),
    cancel: async (...what) => (await opened()).cancel(...what),
  };
}
