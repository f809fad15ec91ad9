/** The floor: child workflows of DBOS that do nothing. A worker takes them; a parent starts them. */
import { DBOS } from "@dbos-inc/dbos-sdk";

const [url = "", role = "", count = "0", atOnce = "0"] = process.argv.slice(2);
const queue = "children";
const child = DBOS.registerWorkflow(async (number: number) => number, { name: "child" });
const parent = DBOS.registerWorkflow(
  async (children: number) => {
    const handles = await Promise.all(
      Array.from({ length: children }, (_, number) =>
        DBOS.startWorkflow(child, { queueName: queue })(number),
      ),
    );
    for (const handle of handles) await handle.getResult();
  },
  { name: "parent" },
);
DBOS.setConfig({
  name: "bare",
  systemDatabaseUrl: url,
  executorID: `${role}-${process.pid}`,
  applicationVersion: "1",
  logLevel: "error",
  listenQueues: role === "worker" ? [queue] : ["nobody"],
});
await DBOS.launch();
await DBOS.registerQueue(queue, {
  workerConcurrency: Number(atOnce),
  minPollingIntervalMs: 50,
  onConflict: "always_update",
});
if (role === "worker") {
  process.send?.("ready");
} else {
  const began = performance.now();
  const handle = await DBOS.startWorkflow(parent)(Number(count));
  await handle.getResult();
  process.send?.(performance.now() - began);
  await DBOS.shutdown();
  process.exit(0);
}
