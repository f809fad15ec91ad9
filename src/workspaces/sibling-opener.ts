import { join } from "node:path";
import { type OpenFile, openEntry } from "./open-file.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";
import { PathDenied } from "./path-denied.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

/**
 * Opens many files that a walk has named, folder by folder: each folder is opened and checked once
 * for all its files. No links are followed, on the way or at the end.
 */
export class SiblingOpener {
  readonly #binding: WorkspaceBinding;
  #folder: OpenFolder | undefined;
  #place: string | undefined;

  constructor(binding: WorkspaceBinding) {
    this.#binding = binding;
  }

  /** `path` is relative to the root, with `/`, without `.` and `..`. */
  open(path: string): OpenFile {
    const slash = path.lastIndexOf("/");
    const place = slash < 0 ? this.#binding.root : join(this.#binding.root, path.slice(0, slash));
    if (this.#folder === undefined || place !== this.#place) {
      this.close();
      this.#folder = openFolder(this.#binding, place, path);
      this.#place = this.#folder.path;
      if (this.#place !== place) {
        throw new PathDenied("path_changed", `"${path}" goes through a symbolic link by now.`);
      }
    }
    return openEntry(this.#binding, this.#folder, path.slice(slash + 1), path);
  }

  close(): void {
    this.#folder?.close();
    this.#folder = undefined;
  }
}
