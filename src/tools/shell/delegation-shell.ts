import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallSubjects } from "../../contracts/judge-by-rules.ts";
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

const prefix = "mandate-shell-";
const staleMs = 24 * 60 * 60 * 1000;

/**
 * The /tmp and the home of one delegation's commands, kept between them. The outer folder is
 * closed to other users: what is inside may be anything, programs that change their user included.
 */
export function createScratchFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`)));
  for (const name of ["tmp", "home"]) mkdirSync(join(folder, name));
  chmodSync(join(folder, "tmp"), 0o1777);
  // Weaker than what a repository says; without it nothing could be committed in a new one.
  const identity = "[user]\n\tname = Mandate agent\n\temail = agent@mandate.invalid\n";
  writeFileSync(join(folder, "home", ".gitconfig"), identity);
  return folder;
}

/** Once nothing runs in it any more. Links are removed and not followed. */
export async function removeScratchFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    // Folders that were closed to their owner as well.
    await openFolders(folder);
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** What processes left that were killed: ours by owner and name, a day old, its maker gone. */
export async function removeStaleScratchFolders(now: number): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const maker = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (maker === undefined || isAlive(Number(maker))) continue;
    const folder = join(tmpdir(), name);
    const status = await lstat(folder).catch(() => undefined);
    const isOurs = status?.isDirectory() === true && status.uid === process.getuid?.();
    if (isOurs && now - status.mtimeMs > staleMs) await removeScratchFolder(folder);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => undefined);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (entry.isDirectory()) await openFolders(join(folder, entry.name));
  }
}
