import type { Io } from "../cli/io.ts";
import { onOwnLines, terminalLetters } from "../cli/terminal-letters.ts";

/** Nothing in it is drawn: nothing can be too wide. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const ordersOnly = /^(?:\u001b\[[?>=<\d;]*[A-Za-z])*$/;

/**
 * The terminal as it is given to who draws: the same stream, but for what is written. No letter of
 * it is an order where bytes are letters, and no line goes on below itself, so that a line begins
 * with what this program put there, however wide a terminal draws what a model said.
 */
export function guardedStdout(
  stdout: NodeJS.WriteStream,
  environment: Io["environment"],
): NodeJS.WriteStream {
  const spell = terminalLetters(environment);
  const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const isText = typeof chunk === "string" && !ordersOnly.test(chunk);
    const text = isText ? onOwnLines(spell(chunk)) : chunk;
    return Reflect.apply(stdout.write, stdout, [text, ...rest]) === true;
  };
  return new Proxy(stdout, {
    get(target, name) {
      if (name === "write") return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
