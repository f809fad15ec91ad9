import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/longest-first.ts";

export default defineConfig({
  // The examples import the package by its name, as its users do.
  resolve: {
    alias: [
      { find: /^mandate$/, replacement: `${import.meta.dirname}/src/index.ts` },
      {
        find: /^mandate\/client$/,
        replacement: `${import.meta.dirname}/src/surfaces/client/mandate-client.ts`,
      },
      { find: /^mandate\/testing$/, replacement: `${import.meta.dirname}/src/testing/index.ts` },
    ],
  },
  test: {
    environment: "node",
    include: [
      "src/**/*.test.ts",
      "scripts/**/*.test.ts",
      "bench/**/*.test.ts",
      "examples/**/*.test.ts",
      "dashboard/**/*.test.ts",
      "deploy/**/*.test.ts",
    ],
    globalSetup: [
      "src/testing/shared-postgres.test-support.ts",
      "dashboard/shared-page.test-support.ts",
    ],
    // As fast as threads on two cores (measured), and a test may send signals or end its process.
    pool: "forks",
    // More than there are cores: many tests wait for disks, and for processes of their own.
    maxWorkers: Math.max(2, Math.ceil(availableParallelism() * 1.5)),
    sequence: { sequencer: LongestFirst },
    // Hundreds of processes load the same sources: what one of them compiled, the next one finds.
    env: {
      NODE_COMPILE_CACHE: `${import.meta.dirname}/node_modules/.cache/mandate-compiled`,
    },
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Real browsers, terminals and signals on a machine that is somebody else's too. What fails
    // there once and then passes is named in the report.
    retry: process.env["CI"] === undefined ? 0 : 1,
    reporters: ["default"],
  },
});
