import { defineConfig } from "vitest/config";

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
    // As fast as threads on two cores (measured), and a test may send signals or end its process.
    pool: "forks",
    // Of two cores one would be left idle; many tests wait for processes of their own.
    maxWorkers: "100%",
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Real browsers, terminals and signals on a machine that is somebody else's too. What fails
    // there once and then passes is named in the report.
    retry: process.env["CI"] === undefined ? 0 : 1,
    reporters: ["default"],
  },
});
