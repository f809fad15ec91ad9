/**
 * What a process that a test starts needs of ours, and nothing else: its programs, and where those
 * before it left what they compiled.
 */
const { NODE_COMPILE_CACHE, PATH = "" } = process.env;

export const childEnvironment: Readonly<Record<string, string>> = {
  PATH,
  ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
};
