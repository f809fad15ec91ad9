import type { CallFault, Conditions, FileFault } from "./job.ts";
import type { Kind, Measured } from "./kind.ts";
import { lackOfTracing } from "./system-calls.ts";
import { tortureRun } from "./torture-run.ts";

/** How a disk fails: for a moment and then it has room again, or from then on. */
const faults: Readonly<Record<string, Pick<FileFault, "count" | "error">>> = {
  "full-for-a-moment": { error: "ENOSPC", count: 3 },
  full: { error: "ENOSPC", count: null },
  "broken-once": { error: "EIO", count: 1 },
  broken: { error: "EIO", count: null },
  kill: { error: "kill", count: 1 },
};

const job: Kind["job"] = {
  children: 3,
  cast: ["writer", "reader", "stumbler"],
  hasRepository: true,
  rounds: 1,
  speed: 4,
};

export const diskFaults: Kind = {
  name: "disk",
  does: "meets a full or broken disk, or its death, at a write or sync of its database",
  stores: ["sqlite"],
  rounds: { usual: 60, long: "all" },
  job,
  needsTrace: true,
  lack: lackOfTracing,
  points: ({ calls }: Measured) =>
    (["pwrite64", "fsync"] as const).flatMap((call) => pointsOf(call, calls[call])),
  play: ({ name, point, ground }) => {
    const [call = "", ...rest] = point.split(" ");
    const fault = { call: call as CallFault["call"], ...faultOf(rest) };
    return tortureRun(name, once({ calls: fault }), ground);
  },
};

export const fileFaults: Kind = {
  name: "files",
  does: "meets a full or broken disk, or its death, at a write to any other file",
  stores: ["sqlite"],
  rounds: { usual: 30, long: "all" },
  job,
  points: ({ fileWrites }: Measured) => pointsOf("file", fileWrites),
  play: ({ name, point, ground }) => {
    const [, ...rest] = point.split(" ");
    return tortureRun(name, once({ files: faultOf(rest) }), ground);
  },
};

function pointsOf(call: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    Object.keys(faults).map((how) => `${call} ${index + 1} ${how}`),
  ).flat();
}

function faultOf([at = "", how = ""]: readonly string[]): FileFault {
  const fault = faults[how];
  if (fault === undefined) throw new Error(`"${how}" is none of ${Object.keys(faults).join(", ")}`);
  return { at: Number(at), ...fault };
}

function once(conditions: Conditions) {
  return (lives: number) =>
    lives === 0 ? ({ kind: "lives", conditions } as const) : ({ kind: "lives" } as const);
}
