import { namedProgram, type Program } from "./find-program.ts";

/** By its place, which every POSIX system has: PATH has no say in which shell it is. */
export function systemShell(): Program {
  return namedProgram("/bin/sh");
}
