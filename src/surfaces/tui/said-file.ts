import { appendFileSync, closeSync, constants, fchmodSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { readWholeFile, writeDurablySync } from "../../files.ts";

/** What is read of the file, and kept when it has grown beyond twice that. */
const most = 500;
const mostBytes = 4_000_000;
/** A longer text belongs in a file of its own. */
const longest = 20_000;

/**
 * What the person said in chats of this home, the oldest first: one JSON string a line. Only its owner
 * can read the file. A file that cannot be read or written costs the history, and not the chat.
 */
export class SaidFile {
  readonly #path: string;

  constructor(home: string) {
    this.#path = join(home, "chat-history");
  }

  read(): readonly string[] {
    const lines = this.#lines();
    const kept = lines.slice(-most);
    if (lines.length > 2 * most) this.#rewrite(kept);
    return kept.flatMap((line) => {
      try {
        const said: unknown = JSON.parse(line);
        return typeof said === "string" && said !== "" ? [said] : [];
      } catch {
        // Another process may have been killed while it wrote this line.
        return [];
      }
    });
  }

  add(text: string): void {
    if (text.length > longest) return;
    try {
      // A link in its place is not followed.
      const flags =
        constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
      const file = openSync(this.#path, flags, 0o600);
      appendFileSync(file, `${JSON.stringify(text)}\n`);
      closeSync(file);
    } catch {
      // The disk is full or read-only.
    }
  }

  #lines(): readonly string[] {
    try {
      const file = openSync(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        // Other users may have been let in by a copy or a backup.
        if ((fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600);
        return (readWholeFile(file, mostBytes)?.toString("utf8") ?? "").split("\n").filter(Boolean);
      } finally {
        closeSync(file);
      }
    } catch {
      return [];
    }
  }

  #rewrite(lines: readonly string[]): void {
    try {
      writeDurablySync(this.#path, `${lines.join("\n")}\n`);
    } catch {
      // The next chat tries again.
    }
  }
}
