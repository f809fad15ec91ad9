import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: [
      "src/**/*.test.ts",
      "scripts/**/*.test.ts",
      "bench/**/*.test.ts",
      "examples/**/*.test.ts",
    ],
    // As fast as threads on two cores (measured), and a test may send signals or end its process.
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 20_000,
    reporters: ["default"],
  },
});
