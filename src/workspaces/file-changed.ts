/** Somebody else changed a file between the moment it was read and the one it was to be replaced. */
export class FileChanged extends Error {
  constructor(path: string) {
    super(`"${path}" was changed by somebody else while it was being edited. Read it again first.`);
    this.name = "FileChanged";
  }
}
