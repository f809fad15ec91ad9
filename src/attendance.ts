/** Who can be asked: the surfaces of all processes on one database that can put a question to a person. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class Attendance {
  /** Null: no other process can have this database. */
  readonly #folder: string | null;
  readonly #name = `${process.pid}-${randomBytes(4).toString("hex")}`;
  #count = 0;

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** A person can answer from here on, until the function that is returned is called. */
  attend(): () => void {
    if (++this.#count === 1) this.#announce();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#count === 0) this.close();
    };
  }

  isAttended(): boolean {
    return this.#count > 0 || this.#others().some((name) => isAlive(Number.parseInt(name, 10)));
  }

  close(): void {
    if (this.#folder !== null) rmSync(join(this.#folder, this.#name), { force: true });
  }

  /** Where that fails, other processes refuse what they could have asked about, which is safe. */
  #announce(): void {
    if (this.#folder === null) return;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(join(this.#folder, this.#name), "", { mode: 0o600 });
    } catch (error) {
      if (typeof (error as NodeJS.ErrnoException).code !== "string") throw error;
    }
  }

  #others(): readonly string[] {
    if (this.#folder === null) return [];
    try {
      return readdirSync(this.#folder);
    } catch {
      return [];
    }
  }
}

/** A process that was killed could not take its file away. */
function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
