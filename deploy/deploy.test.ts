import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { commands } from "../src/surfaces/cli/commands.ts";

const read = (name: string): unknown =>
  parse(readFileSync(join(import.meta.dirname, name), "utf8"), { merge: true });

/** The command's own words and options, as the files pass them. */
async function requireKnown(words: readonly string[]): Promise<void> {
  const [name = "", ...rest] = words;
  const command = await commands[name]?.load();
  expect(command?.name).toBe(name);
  const options = rest.filter((word) => word.startsWith("--")).map((word) => word.slice(2));
  expect(Object.keys(command?.options ?? {})).toEqual(expect.arrayContaining(options));
}

interface Compose {
  readonly services: Readonly<
    Record<string, { command?: string[]; environment: Record<string, string> }>
  >;
}

test("the compose file starts a server and workers on one database, with commands that exist", async () => {
  const { services } = read("compose.yaml") as Compose;
  expect(Object.keys(services)).toEqual(["database", "server", "worker"]);
  for (const name of ["server", "worker"]) {
    await requireKnown(services[name]?.command ?? []);
    expect(services[name]?.environment).toMatchObject({ MANDATE_ENGINE: "dbos" });
  }
});

interface Manifest {
  readonly items: readonly {
    readonly kind: string;
    readonly spec: {
      readonly template?: { spec: { containers: { args: string[]; env: { name: string }[] }[] } };
    };
  }[];
}

test("the manifest is one list, whose containers run commands that exist on the same database", async () => {
  const { items } = read("kubernetes.yaml") as Manifest;
  expect(items.map(({ kind }) => kind)).toEqual([
    "Deployment",
    "Service",
    "Deployment",
    "PodDisruptionBudget",
  ]);
  for (const { spec } of items) {
    for (const { args, env } of spec.template?.spec.containers ?? []) {
      await requireKnown(args);
      expect(env.map(({ name }) => name)).toContain("MANDATE_DATABASE_URL");
    }
  }
});
