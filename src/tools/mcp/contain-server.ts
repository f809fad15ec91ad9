import type { Clock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { EgressLog } from "../../workspaces/egress/egress-log.ts";
import { createEgressProxy } from "../../workspaces/egress/egress-proxy.ts";
import type { Lookup } from "../../workspaces/egress/web-address.ts";
import type { Program } from "../../workspaces/processes/find-program.ts";
import type { PrivateFolder } from "../../workspaces/processes/private-folder.ts";
import { startContained } from "../../workspaces/sandbox/contained-program.ts";
import type { SandboxFinding } from "../../workspaces/sandbox/detect-sandbox.ts";
import type { ResourceLimits } from "../../workspaces/sandbox/resource-limits.ts";
import {
  createScratchFolder,
  removeScratchFolder,
} from "../../workspaces/sandbox/scratch-folder.ts";
import type { ExpandedStdio } from "./expand-server.ts";
import type { ServerStart } from "./server-process.ts";

/** Where servers are started, and how those are contained that are declared with a sandbox. */
export interface ServerPlace {
  /** Below this folder a local server gets an empty one to start in. */
  readonly folder: string;
  readonly containment: ServerContainment | undefined;
}

/** What all servers in a sandbox share. */
export interface ServerContainment {
  readonly sandbox: () => SandboxFinding;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Never visible, also below a folder that is. */
  readonly forbidden: readonly string[];
  readonly limits: ResourceLimits;
  readonly unixSockets: boolean;
  readonly allowPrivate: readonly string[];
  readonly lookup?: Lookup;
}

interface ContainedServer {
  readonly server: ExpandedStdio;
  readonly program: Program;
  readonly folder: PrivateFolder;
  readonly containment: ServerContainment | undefined;
  readonly clock: Clock;
}

/**
 * Starts a server in a sandbox: it writes its own folder, home and temporary folder, reads the
 * programs of the system and what its declaration names, and reaches the hosts that declaration and
 * contract both grant.
 */
export function containServer(start: ContainedServer): ServerStart {
  const { clock, containment, folder, program, server } = start;
  const finding = containment?.sandbox();
  if (containment === undefined || finding?.isUsable !== true) {
    const why = finding?.isUsable === false ? finding.problem : "";
    throw new MandateError("config-invalid", `it is declared with a sandbox. ${why}`.trim());
  }
  const { allowPrivate, environment, forbidden, limits, lookup, unixSockets } = containment;
  const { grants = [], visible = [] } = server.sandbox ?? {};
  const connections = new EgressLog();
  const onConnection = connections.add.bind(connections);
  const reachesHosts = grants.every((granted) => granted.length > 0);
  const scratch = createScratchFolder();
  const { child } = startContained(
    { sandbox: finding.sandbox, programs: finding.programs, environment, limits, clock },
    {
      policy: {
        ...{ root: folder.path, allowWrites: true, writeRoots: [folder.path], isThrowaway: true },
        ...{ forbidden, guarded: [], ownsGit: false, unixSockets, scratch },
        visible: [...visible, ...(server.cwd === null ? [] : [server.cwd]), program.file],
      },
      argv: [program.file, ...server.args],
      cwd: server.cwd ?? folder.path,
      variables: server.env,
      input: "pipe",
      ...(reachesHosts && {
        egress: createEgressProxy({
          grants,
          allowPrivate,
          onConnection,
          ...(lookup && { lookup }),
        }),
      }),
    },
  );
  return {
    child: child as ServerStart["child"],
    connections,
    folder: {
      remove() {
        folder.remove();
        void removeScratchFolder(scratch);
      },
    },
  };
}
