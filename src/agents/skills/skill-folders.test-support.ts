import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SkillDirectory } from "./find-skill-folders.ts";

/** A folder of its own for one test. */
export class TestFolder implements Disposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-skills-")));

  path(...names: readonly string[]): string {
    return join(this.root, ...names);
  }

  write(path: string, content: string | Uint8Array): string {
    const file = this.path(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  /** A skill in order, at `place/SKILL.md`. */
  skill(place: string, head = "description: Of use in tests.", body = "Do it."): string {
    return this.write(`${place}/SKILL.md`, `---\n${head}\n---\n\n${body}\n`);
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** The user's own skills. */
export function user(folder: TestFolder, path = "."): SkillDirectory {
  return { path: folder.path(path), origin: "user" };
}

/** Skills that came with somebody else's work. */
export function repository(folder: TestFolder, path = "."): SkillDirectory {
  return { path: folder.path(path), origin: "workspace", isRepository: true };
}
