import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { commands } from "../src/surfaces/cli/commands.ts";

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");

/** The command's own words and options, as the files pass them. */
async function requireKnown(words: readonly string[]): Promise<void> {
  const [name = "", ...rest] = words;
  const command = await commands[name]?.load();
  expect(command?.name).toBe(name);
  const options = rest.flatMap((word) => /^--([a-z-]+)/.exec(word)?.[1] ?? []);
  expect(Object.keys(command?.options ?? {})).toEqual(expect.arrayContaining(options));
}

interface Compose {
  readonly services: Readonly<
    Record<string, { command?: string[]; environment: Record<string, string> }>
  >;
}

test("the compose file starts a server and workers on one database, with commands that exist", async () => {
  const { services } = parse(read("compose.yaml"), { merge: true }) as Compose;
  expect(Object.keys(services)).toEqual(["database", "server", "worker"]);
  for (const name of ["server", "worker"]) {
    await requireKnown(services[name]?.command ?? []);
    expect(services[name]?.environment).toMatchObject({ MANDATE_ENGINE: "dbos" });
  }
});

test("the image is made from the packed checkout, runs as a user of its own and has a health check", () => {
  const steps = read("Dockerfile").split("\n");
  const stages = steps.filter((step) => step.startsWith("FROM "));
  expect(stages).toEqual(["FROM node:24-slim AS package", "FROM node:24-slim"]);
  const text = steps.join("\n");
  expect(text).toContain("npm pack --pack-destination /package");
  expect(text).not.toMatch(/npm install [^\n]*mandate@/);
  expect(steps.indexOf("USER 10001")).toBeLessThan(
    steps.findIndex((step) => step.startsWith("ENTRYPOINT")),
  );
  expect(text).toContain("HEALTHCHECK");
  const { devDependencies } = JSON.parse(read("../package.json")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  // What the image installs beside the package is what the tests ran with.
  expect(text).toContain(`ARG DBOS_VERSION=${devDependencies["@dbos-inc/dbos-sdk"]}\n`);
  expect(text).toContain(`ARG PG_VERSION=${devDependencies["pg"]}\n`);
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly accessModes?: readonly string[];
    readonly template?: {
      spec: {
        containers: {
          args: string[];
          env: { name: string }[];
          ports: { name: string; containerPort: number }[];
          startupProbe: Probe;
          livenessProbe: Probe;
          readinessProbe: Probe;
        }[];
      };
    };
  };
}

const base = "kubernetes/base";
const manifests = (): readonly Manifest[] => {
  const { resources } = parse(read(`${base}/kustomization.yaml`)) as { resources: string[] };
  return resources.flatMap((name) =>
    parseAllDocuments(read(`${base}/${name}`)).map((each) => each.toJS() as Manifest),
  );
};

test("the kustomize base names all of its files, and its containers run commands that exist", async () => {
  const { resources } = parse(read(`${base}/kustomization.yaml`)) as { resources: string[] };
  const files = readdirSync(join(import.meta.dirname, base));
  expect([...resources, "kustomization.yaml"].toSorted()).toEqual(files.toSorted());
  expect(manifests().map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "PersistentVolumeClaim mandate-home",
    "PersistentVolumeClaim mandate-work",
    "Deployment mandate-server",
    "Service mandate",
    "Service mandate-health",
    "PodDisruptionBudget mandate-server",
    "Deployment mandate-worker",
    "PodDisruptionBudget mandate-worker",
  ]);
  for (const { spec } of manifests()) {
    if (spec.accessModes) expect(spec.accessModes).toEqual(["ReadWriteMany"]);
    for (const container of spec.template?.spec.containers ?? []) {
      await requireKnown(container.args);
      expect(container.env.map(({ name }) => name)).toContain("MANDATE_DATABASE_URL");
      const ports = container.ports.map(({ name }) => name);
      const { livenessProbe, readinessProbe, startupProbe } = container;
      for (const probe of [livenessProbe, readinessProbe, startupProbe]) {
        expect(ports).toContain(probe.httpGet.port);
      }
      // A database that is away is no reason to restart anything.
      expect([livenessProbe.httpGet.path, startupProbe.httpGet.path]).toEqual([
        "/healthz",
        "/healthz",
      ]);
    }
  }
});

test("every file says what was done with it, and what was not", () => {
  for (const name of [
    "Dockerfile",
    `${base}/kustomization.yaml`,
    "kubernetes/autoscaled/kustomization.yaml",
  ]) {
    expect([name, read(name)]).toEqual([
      name,
      expect.stringMatching(/not applied|no image was built/),
    ]);
  }
});
