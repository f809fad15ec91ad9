import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
import { installationName, nameInToken, newToken } from "./access-token.ts";

/**
 * The token of this installation, made when it is first asked for. Every reader of the file is its
 * owner and may do everything, so a file that others can read is not accepted.
 */
export function installationToken(file: string): string {
  try {
    return readToken(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const draft = writeDraft(file);
  try {
    // Of two processes that come at once, the second finds what the first has put there.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readToken(file);
}

/** Another one in its place; the old one is worth nothing from here on. */
export function rotateInstallationToken(file: string): string {
  renameSync(writeDraft(file), file);
  return readToken(file);
}

function writeDraft(file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const token = newToken(installationName);
  const draft = `${file}.${process.pid}.${token.slice(-8)}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: "wx" });
  return draft;
}

function readToken(file: string): string {
  // A second look at the permissions would be of another file: what matters is who can read now.
  const isOpenToOthers = process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0;
  if (isOpenToOthers) {
    throw new MandateError(
      "config-invalid",
      `Others can read the access token in "${file}". Make another one with \`mandate token rotate\`.`,
    );
  }
  const token = readFileSync(file, "utf8").trim();
  if (nameInToken(token) === installationName) return token;
  throw new MandateError(
    "config-invalid",
    `The file "${file}" does not hold an access token. Make another one with \`mandate token rotate\`.`,
  );
}
