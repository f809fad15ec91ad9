/** Starts a program in a sandbox and waits: `node contained-owner.test-support.ts ROOT SCRATCH COMMAND`. */
import { systemClock } from "../../ports/clock.ts";
import { startContained } from "./contained-program.ts";
import { detectSandbox } from "./detect-sandbox.ts";
import { defaultLimits } from "./resource-limits.ts";

const [root = "", scratch = "", command = ""] = process.argv.slice(2);
const finding = detectSandbox(process.env);
if (!finding.isUsable) throw new Error(finding.problem);
const { programs, sandbox } = finding;
startContained(
  { sandbox, programs, environment: process.env, limits: defaultLimits, clock: systemClock },
  {
    policy: {
      ...{ root, allowWrites: true, writeRoots: [root], isThrowaway: true, scratch },
      ...{ forbidden: [], guarded: [], visible: [], ownsGit: false },
    },
    argv: ["/bin/sh", "-c", command],
    cwd: root,
    input: "pipe",
  },
);
setInterval(() => undefined, 1000);
