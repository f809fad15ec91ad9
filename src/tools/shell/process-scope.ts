import {
  descendantsOf,
  processesMarked,
  signalProcess,
} from "../../workspaces/sandbox/process-tree.ts";

/** All that a command has started and is still there. */
export interface ProcessScope {
  processes(): readonly number[];
  kill(): void;
}

/** Nobody leaves a namespace, and none survives its first process. */
export function namespaceScope(first: number): ProcessScope {
  return {
    processes: () => descendantsOf(first),
    kill: () => signalProcess(first, "SIGKILL"),
  };
}

/**
 * Without a namespace: the group of the command, and on Linux whoever carries its mark in the
 * environment. One that leaves the group and also cleans its environment is not found.
 */
export function markedScope(leader: number, mark: string): ProcessScope {
  const processes = (): readonly number[] =>
    process.platform === "linux" ? processesMarked(mark) : [];
  return {
    processes: () => [...processes(), -leader],
    kill: () => {
      for (const pid of [...processes(), -leader]) signalProcess(pid, "SIGKILL");
    },
  };
}
