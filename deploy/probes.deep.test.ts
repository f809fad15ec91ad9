import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { childEnvironment } from "../src/testing/child-environment.test-support.ts";
import { dropDatabase, freshDatabase } from "../src/testing/postgres.test-support.ts";
import { until } from "../src/testing/until.ts";

/**
 * What the manifests say is done here with processes in place of containers: their arguments,
 * variables, ports, probe paths and host names. A pod's own address is one of this machine's loopback
 * addresses, and mounted folders are temporary ones; nothing else is replaced.
 */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-pods-")));
const program = join(import.meta.dirname, "../src/mandate.ts");
let url: string;
const stops: (() => void)[] = [];

beforeAll(async () => {
  url = await freshDatabase();
});

afterAll(async () => {
  for (const stop of stops) stop();
  await dropDatabase(url);
  rmSync(folder, { recursive: true, force: true });
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: {
      readonly secretKeyRef: { readonly key: string; readonly optional?: true };
    };
  }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

function documents(file: string) {
  const text = readFileSync(join(import.meta.dirname, "kubernetes", file), "utf8");
  return parseAllDocuments(text).map((each) => each.toJS() as Record<string, never>);
}

function containerOf(file: string): Container {
  const [deployment] = documents(file) as unknown as readonly {
    spec: { template: { spec: { containers: Container[] } } };
  }[];
  const [container] = deployment?.spec.template.spec.containers ?? [];
  if (container === undefined) throw new Error(`${file} has no container`);
  return container;
}

interface Pod {
  readonly address: string;
  readonly log: () => string;
  ended(): Promise<number | null>;
  stop(): void;
  ask(port: number, path: string, options?: Asked): Promise<{ status: number; body: string }>;
  probe(probe: Probe): Promise<number>;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function startPod(container: Container, address: string): Pod {
  const secrets: Readonly<Record<string, string>> = {
    "database-url": url,
    "page-key": Buffer.alloc(32, 7).toString("base64"),
  };
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env) {
    const { key, optional } = valueFrom?.secretKeyRef ?? {};
    const found = value ?? secrets[key ?? ""];
    if (found === undefined && optional !== true) throw new Error(`no ${name}`);
    if (found !== undefined) env[name] = found;
  }
  const mounted = (path: string): string => {
    const mount = container.volumeMounts.find(({ mountPath }) => path === mountPath);
    if (mount === undefined) return path;
    mkdirSync(join(folder, mount.name), { recursive: true });
    return join(folder, mount.name);
  };
  const args = container.args.map((arg) => {
    const [option, value] = arg.split("=");
    if (value === undefined) return arg;
    return `${option}=${value === "0.0.0.0" ? address : mounted(value)}`;
  });
  const child = spawn("node", [program, ...args], {
    cwd: mounted("/work"),
    env: {
      ...childEnvironment,
      HOME: folder,
      // The image's own, and a model that needs no key.
      MANDATE_HOME: mounted("/home/mandate/data"),
      MANDATE_MODEL: "scripted/echo",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => (said += String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  stops.push(() => child.kill("SIGKILL"));
  const ask: Pod["ask"] = (port, path, { body, headers, method = "GET" } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request({ host: address, port, path, method, headers }, (response) => {
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const portOf = (name: string): number =>
    container.ports.find((port) => port.name === name)?.containerPort ?? 0;
  return {
    address,
    log: () => said,
    ended: () => ended,
    stop: () => child.kill("SIGTERM"),
    ask,
    // The kubelet names the pod's address as the host, and counts 200 to 399 as success.
    probe: ({ httpGet: { path, port } }) =>
      ask(portOf(port), path).then(
        ({ status }) => status,
        () => 0,
      ),
  };
}

async function becomesReady(pod: Pod, container: Container): Promise<void> {
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
    await until(
      `${probe.httpGet.path} succeeds: ${pod.log()}`,
      async () => (await pod.probe(probe)) === 200,
    );
  }
}

test("pods of the base become ready, do a run that comes in by the service, and drain", async () => {
  const [server, worker] = [containerOf("base/server.yaml"), containerOf("base/worker.yaml")];
  const pods = [startPod(server, "127.61.7.1"), startPod(worker, "127.61.7.2")] as const;
  await becomesReady(pods[0], server);
  await becomesReady(pods[1], worker);

  const services = documents("base/server.yaml") as unknown as readonly {
    kind: string;
    metadata: { name: string };
    spec: { ports: { port: number; targetPort: string }[] };
  }[];
  const targetOf = (name: string): number => {
    const service = services.find(
      ({ kind, metadata }) => kind === "Service" && metadata.name === name,
    );
    const target = service?.spec.ports[0]?.targetPort;
    return server.ports.find((port) => port.name === target)?.containerPort ?? 0;
  };
  const token = readFileSync(join(folder, "home/tokens"), "utf8").trim();
  const [host = ""] = server.args.flatMap((arg) => /^--allow-host=(.+)$/.exec(arg)?.[1] ?? []);
  const headers = { host, authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ task: "Count the boats", wait: 20_000 });
  const run = await pods[0].ask(targetOf("mandate"), "/api/v1/runs", {
    method: "POST",
    headers,
    body,
  });
  expect(run.status, run.body).toBe(201);
  expect(run.body).toContain("Count the boats");
  // The public port answers no probe without a token.
  for (const path of ["/readyz", "/healthz", "/api/v1/health"]) {
    const { status } = await pods[0].ask(targetOf("mandate"), path, { headers: { host } });
    expect([401, 404]).toContain(status);
  }

  // As the autoscaler reads it, but for the service's name: an address of this machine alone answers
  // to no other name (health-server.test.ts has one that is open).
  const [scaled] = documents("autoscaled/scaled-object.yaml") as unknown as readonly {
    spec: { triggers: { metadata: Record<string, string> }[] };
  }[];
  const { metadata = {} } = scaled?.spec.triggers[0] ?? {};
  const address = new URL(metadata["url"] ?? "");
  expect(address.hostname.split(".")[0]).toBe("mandate-health");
  expect(Number(address.port)).toBe(targetOf("mandate-health"));
  const metrics = await pods[0].ask(Number(address.port), address.pathname);
  const [series = "", value] =
    metrics.body
      .split("\n")
      .find((line) => line.startsWith(metadata["valueLocation"] ?? "-"))
      ?.split(" ") ?? [];
  expect([series, Number(value)]).toEqual([metadata["valueLocation"], 0]);
  const [places] = worker.args.flatMap((arg) => /^--concurrency=(\d+)$/.exec(arg)?.[1] ?? []);
  expect(metadata["targetValue"]).toBe(places);

  pods[1].stop();
  expect(await pods[1].ended()).toBe(0);
  pods[0].stop();
  expect(await pods[0].ended()).toBe(0);
});

test("the image's health check succeeds beside a process that runs as in the compose file, and fails without", async () => {
  const docker = readFileSync(join(import.meta.dirname, "Dockerfile"), "utf8");
  const command = JSON.parse(
    /HEALTHCHECK[^\n]*\\\n\s*CMD (\[.*\])/.exec(docker)?.[1] ?? "[]",
  ) as string[];
  const compose = parse(readFileSync(join(import.meta.dirname, "compose.yaml"), "utf8"), {
    merge: true,
  }) as { services: Record<string, { command: string[] }> };
  const port = "4849";
  for (const name of ["server", "worker"]) {
    const words = compose.services[name]?.command ?? [];
    expect(words[words.indexOf("--health") + 1]).toBe(port);
  }
  const script = command[2] ?? "";
  expect(command.slice(0, 2)).toEqual(["node", "-e"]);
  expect(script).toContain(`127.0.0.1:${port}/healthz`);
  // In a container the address is the container's own; here the port may be another program's.
  const check = (address: string): Promise<number | null> =>
    new Promise((resolve) =>
      spawn("node", ["-e", script.replace("127.0.0.1", address)]).once("exit", resolve),
    );
  const worker = containerOf("base/worker.yaml");
  const pod = startPod(worker, "127.61.7.3");
  await becomesReady(pod, worker);
  expect(await check("127.61.7.3")).toBe(0);
  expect(await check("127.61.7.4")).toBe(1);
  pod.stop();
  expect(await pod.ended()).toBe(0);
});
