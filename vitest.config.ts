import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { OneLinePerFile } from "./scripts/test-reporter.ts";

const folders = "{src,scripts,bench,examples,dashboard,deploy}";
/** Real browsers, terminals, Postgres, workers, git at depth, faults; and promises about time. */
const deep = `${folders}/**/*.{deep,deadline}.test.ts`;
const any = `${folders}/**/*.test.ts`;

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
    projects: [
      {
        extends: true,
        // What `npm test` runs. A file leaves nothing behind, so the next one shares its process.
        test: {
          name: "quick",
          include: [any],
          exclude: [deep, "**/node_modules/**"],
          isolate: false,
        },
      },
      { extends: true, test: { name: "deep", include: [deep] } },
    ],
    environment: "node",
    setupFiles: ["src/testing/fixed-seed.test-support.ts"],
    globalSetup: [
      "src/testing/shared-postgres.test-support.ts",
      "dashboard/shared-page.test-support.ts",
    ],
    // As fast as threads on two cores (measured), and a test may send signals or end its process.
    pool: "forks",
    // More than there are cores: many tests wait for disks, and for processes of their own.
    maxWorkers: Math.max(2, Math.ceil(availableParallelism() * 1.5)),
    // Hundreds of processes load the same sources: what one of them compiled, the next one finds.
    env: {
      NODE_COMPILE_CACHE: `${import.meta.dirname}/node_modules/.cache/mandate-compiled`,
    },
    // Ceilings for a machine that is busy with other things; nothing should come near them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 45_000 } },
    retry: 0,
    reporters: [new OneLinePerFile()],
  },
});
