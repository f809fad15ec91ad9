import type { KnipConfig } from "knip";

const isProduction = process.argv.includes("--production");

export default {
  workspaces: {
    ".": {
      entry: [
        "src/index.ts!",
        "src/testing/index.ts!",
        "src/surfaces/client/mandate-client.ts!",
        "src/mandate.ts!",
        // Runs inside the sandbox, from its file.
        "src/workspaces/egress/relay-main.ts!",
        "src/workspaces/sandbox/contained-owner.test-support.ts",
        "src/testing/attacks/inherited-descriptors.test-support.ts",
        "src/workspaces/git/integration/integrate-and-die.test-support.ts",
        "src/testing/fleet-worker.test-support.ts",
        "src/testing/faults/fault-process.test-support.ts",
        "bench/fleet/bare-worker.ts",
        "bench/load/queue/worker.ts",
        "bench/load/soak/server.ts",
        "bench/load/store/{generate,server}.ts",
        "scripts/*.{mjs,ts}",
        "bench/*.ts",
        "examples/*.ts",
      ],
      project: [
        "src/**/*.ts!",
        "!src/**/*.{test,test-support}.ts!",
        "scripts/**/*.{mjs,ts}",
        // Runs beside packages that are not ours.
        "!scripts/clients/library-clients.mjs",
        "bench/**/*.ts",
        "examples/**/*.ts",
      ],
    },
    dashboard: {
      entry: ["src/data/no-hashes.ts!"],
      project: ["src/**/*.{ts,tsx,css}!", "!src/**/*.{test,test-support}.{ts,tsx}!", "*.ts"],
    },
  },
  ignoreDependencies: ["publint", "@arethetypeswrong/cli"],
  ignoreBinaries: ["bwrap", "mkfifo", "mount", "openssl", "strace", "umount", "vite"],
  // Without tests, what a file exports for its test alone is used in that file. With tests, an export
  // that no other file imports is one word too many.
  ignoreExportsUsedInFile: isProduction || { interface: true, type: true },
} satisfies KnipConfig;
