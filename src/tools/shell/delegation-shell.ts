import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
import {
  createScratchFolder,
  removeScratchFolder,
} from "../../workspaces/sandbox/scratch-folder.ts";
import type { ShellProcess } from "./shell-process.ts";

interface BackgroundCommand {
  readonly process: ShellProcess;
  /** What it was about when it was started: reading it is judged by the same. */
  readonly subjects: CallSubjects;
}

/** What the commands of one delegation share, until it ends. */
export class DelegationShell {
  readonly scratch = createScratchFolder();
  readonly #running = new Set<ShellProcess>();
  readonly #background = new Map<string, BackgroundCommand>();
  #handles = 0;

  follow(process: ShellProcess): void {
    this.#running.add(process);
    process.ended.catch(() => undefined).finally(() => this.#running.delete(process));
  }

  keep(command: BackgroundCommand): string {
    const handle = `bg-${++this.#handles}`;
    this.#background.set(handle, command);
    return handle;
  }

  find(handle: string): BackgroundCommand | undefined {
    return this.#background.get(handle);
  }

  get handles(): readonly string[] {
    return [...this.#background.keys()];
  }

  get runningInBackground(): number {
    return [...this.#background.values()].filter(({ process }) => process.isRunning).length;
  }

  async release(): Promise<void> {
    const because = "The delegation has ended, and the command with it.";
    await Promise.all([...this.#running].map((process) => process.end(because)));
    this.#background.clear();
    await removeScratchFolder(this.scratch);
  }
}
