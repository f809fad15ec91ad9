// Counts the files of src/delegations of which functions run while one parent delegates to one child
// that reads a file: node scripts/measure-delegation.mjs [--list]
//
// Between `startRun` and the result. Files of which only the top level ran, at import, do not count.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const most = 25;

const root = join(dirname(import.meta.dirname), "src");
const { openEngine } = await import("../src/testing/engine-fixture.ts");

const call = (name, input) => ({ calls: [{ tool: name, input }] });

const model = ({ caller: { depth, turn } }) => {
  if (turn > 1) return depth > 0 ? "It says: hello." : "The child has read it.";
  if (depth > 0) return call("read_file", { path: "notes.txt" });
  return call("delegate_task", { profile: "general", task: "Read notes.txt." });
};

const engine = await openEngine({ model });
writeFileSync(join(engine.workspace, "notes.txt"), "hello\n");
const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
// What ran before is in this one, and not in the next.
await inspector.post("Profiler.takePreciseCoverage");
const request = { task: "Have notes.txt read.", workspace: engine.workspace };
const { events, result } = await engine.run(request);
const { result: scripts } = await inspector.post("Profiler.takePreciseCoverage");
inspector.disconnect();
await engine[Symbol.asyncDispose]();
const reads = events.filter(({ payload, type }) => {
  return type === "agent.tool_completed" && payload.tool === "read_file" && !payload.is_error;
});
if (result.status !== "completed" || reads.length !== 1) throw new Error("No child read the file.");

const ran = scripts.flatMap(({ functions, url }) => {
  if (!url.startsWith("file:")) return [];
  const file = relative(root, fileURLToPath(url)).split(sep).join("/");
  const called = functions.filter(
    ({ functionName, ranges }) => functionName !== "" && ranges.some(({ count }) => count > 0),
  );
  if (!file.startsWith("delegations/") || called.length === 0) return [];
  return [{ file, called: called.map(({ functionName }) => functionName) }];
});
if (process.argv.includes("--list")) {
  for (const { called, file } of ran) console.log(`${file}: ${called.join(" ")}`);
}
console.log(`One delegation that reads a file runs ${ran.length} files of src/delegations.`);
if (ran.length > most) {
  console.log(`At most ${most} are wanted (scripts/measure-delegation.mjs).`);
  process.exitCode = 1;
}
