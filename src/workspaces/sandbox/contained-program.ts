import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import { descendantsOf, signalProcess } from "../delegation-mark.ts";
import { type Door, type Doors, openBridge } from "../egress/bridge.ts";
import { type StartedProgram, startProgram } from "../processes/start-program.ts";
import { type ControlGroup, createControlGroup, findDelegatedGroup } from "./control-group.ts";
import { countsInNamespace, type ResourceLimits, watchResources } from "./resource-limits.ts";
import {
  freshEnvironment,
  type ProgramPlaces,
  relayInside,
  type Sandbox,
  type SandboxPolicy,
} from "./sandbox.ts";

export interface Containment {
  readonly sandbox: Sandbox;
  readonly programs: ProgramPlaces;
  /** The environment of this process; the program gets a new one without secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits: ResourceLimits;
  readonly clock: Clock;
}

export interface ContainedStart {
  readonly policy: SandboxPolicy;
  readonly argv: readonly string[];
  readonly cwd: string;
  /** In addition to the usual ones, which win. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The proxy to granted hosts; absent: no host is reached. */
  readonly egress?: Door | undefined;
  /** What else the program reaches on 127.0.0.1, such as the model gateway. */
  readonly doors?: Doors;
  readonly input: "pipe" | "ignore";
  /** Standard error becomes part of standard output, in order. */
  readonly joinsErrors?: boolean;
  /** Told of empty folders that are made before the program starts. */
  readonly onPlaceholders?: (places: readonly string[]) => void;
}

/** A program in a sandbox, with everything that it starts. */
export interface ContainedProgram {
  readonly child: StartedProgram<("pipe" | "ignore")[]>;
  /** Whether the sandbox could be set up: until then its standard error says why not. */
  isSetUp(): boolean;
  /** The processes of the program on this machine, at this moment. */
  processes(): readonly number[];
  /** Why it was ended, where it used too much. */
  exceeded(): string | undefined;
  /** Ends the program and everything that it started; safe to repeat. */
  kill(): void;
}

/** Where programs find the proxy inside a sandbox, which has a loopback of its own. */
const proxyPort = 3128;

/**
 * Starts a program in a sandbox: a command, an MCP server, or another agent program. No process leaves
 * its namespace and none survives its first process, which ends when this process does.
 *
 * @example
 * const doors = new Map([[8080, doorToLoopback(gateway.port)]]);
 * const program = startContained(containment, { policy, argv, cwd, doors, input: "pipe" });
 * program.child.stdin?.write("…");
 */
export function startContained(containment: Containment, start: ContainedStart): ContainedProgram {
  const { clock, environment, limits, programs, sandbox } = containment;
  const doors = new Map(start.doors);
  if (!sandbox.hasNamespaces && (doors.size > 0 || start.egress !== undefined)) {
    throw new Error(`${sandbox.name} grants no hosts. Start it without any.`);
  }
  if (start.egress !== undefined) doors.set(proxyPort, start.egress);
  const ports = [...doors.keys()];
  let group = makeGroup(limits);
  const line = sandbox.wrap(
    {
      ...start.policy,
      ...(ports.length > 0 && { hasRelay: true }),
      ...(group !== undefined && { isHeld: true }),
    },
    ["/bin/sh", "-c", beginning(limits, ports, start.joinsErrors === true), "sh", ...start.argv],
    start.cwd,
  );
  start.onPlaceholders?.(line.placeholders);
  const child = startProgram(
    {
      program: line.program,
      args: line.args,
      // The sandbox itself gets the clean environment too: its first process shows it to the others.
      environment: {
        ...start.variables,
        ...freshEnvironment(environment, programs, sandbox.placesOf(start.policy.scratch)),
        ...(start.egress !== undefined && proxyVariables),
      },
      // What a terminal sends to our group is not meant for it.
      leadsGroup: true,
    },
    [
      ...([start.input, "pipe", "pipe"] as const),
      ...(["pipe", line.filter ? "pipe" : "ignore"] as const),
      ...([ports.length > 0 ? "pipe" : "ignore", group ? "pipe" : "ignore"] as const),
    ],
  );
  // Without namespaces it is known by its group alone.
  let first = sandbox.hasNamespaces ? undefined : child.pid;
  let isOver = false;
  let because: string | undefined;
  const [, , , status, filter, bridge, hold] = child.stdio as readonly (
    | Duplex
    | null
    | undefined
  )[];
  // A sandbox that ended before it read its filter says why by itself.
  filter?.on("error", ignore).end(line.filter, () => filter.destroy());
  if (bridge) openBridge(bridge.on("error", ignore), doors);
  hold?.on("error", ignore);
  status?.on("error", ignore).on("data", (chunk: Buffer) => {
    const named = /"child-pid"\s*:\s*(\d+)/.exec(chunk.toString("latin1"));
    if (named === null) return;
    first = Number(named[1]);
    preferToEnd(first);
    if (!enter(group, first)) group = leave(group);
    hold?.end("\n");
    // The program was stopped before its process was known.
    if (because !== undefined) kill();
  });
  const stopWatching = watchResources(
    {
      processes,
      onExceeded(reason) {
        because ??= reason;
        kill();
      },
    },
    limits,
    clock,
  );
  child.once("exit", () => {
    because ??= group?.exceeded();
    isOver = true;
    stopWatching();
    bridge?.destroy();
    group = leave(group);
  });
  child.once("error", stopWatching);
  return { child, isSetUp: () => first !== undefined, processes, exceeded: () => because, kill };

  function processes(): readonly number[] {
    if (isOver || first === undefined) return [];
    return sandbox.hasNamespaces ? descendantsOf(first) : [-first];
  }

  function kill(): void {
    if (isOver) return;
    group?.kill();
    if (first !== undefined) signalProcess(first, "SIGKILL");
    if (child.pid !== undefined) signalProcess(-child.pid, "SIGKILL");
  }
}

/** Programs read these in either case. The loopback of the sandbox is its own. */
const proxyVariables: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ["http_proxy", `http://127.0.0.1:${proxyPort}`],
    ["https_proxy", `http://127.0.0.1:${proxyPort}`],
    ["no_proxy", "localhost,127.0.0.1,::1"],
  ]
    .flatMap(([name = "", value = ""]) => [
      [name, value],
      [name.toUpperCase(), value],
    ])
    .concat([["NODE_USE_ENV_PROXY", "1"]]),
);

/**
 * The prefix of every program: no core files, the limit on processes where the system counts them, and
 * the relay. That closes its output when it listens; the program itself does not get its descriptor.
 */
function beginning(limits: ResourceLimits, ports: readonly number[], joinsErrors: boolean): string {
  const { processes } = limits;
  const limit = countsInNamespace()
    ? `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null; `
    : "";
  const relay = `exec 7>&1 </dev/null >/dev/null 2>&1; exec ${relayInside.node} ${relayInside.script} 5 7 ${ports.join(" ")}`;
  const relayed =
    ports.length === 0
      ? ""
      : `[ "$( (${relay}) & )" = ready ] || { echo "The relay to granted hosts did not start." >&2; exit 126; }; exec 5>&-; `;
  return `${joinsErrors ? "exec 2>&1; " : ""}ulimit -c 0; ${limit}${relayed}exec "$@"`;
}

let delegated: string | null | undefined;

/** The kernel's own limits, where this process may set them; otherwise they are watched alone. */
function makeGroup(limits: ResourceLimits): ControlGroup | undefined {
  delegated ??= findDelegatedGroup() ?? null;
  if (delegated === null) return undefined;
  try {
    return createControlGroup(
      delegated,
      `${process.pid}-${randomBytes(6).toString("hex")}`,
      limits,
    );
  } catch {
    delegated = null;
    return undefined;
  }
}

function enter(group: ControlGroup | undefined, pid: number): boolean {
  try {
    group?.add(pid);
    return true;
  } catch {
    return false;
  }
}

function leave(group: ControlGroup | undefined): undefined {
  group?.remove();
}

/** When the machine runs out of memory, the kernel ends programs of sandboxes before any other. */
function preferToEnd(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // The process has ended.
  }
}

function ignore(): void {}
