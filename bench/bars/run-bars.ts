import type { Bar } from "./bar.ts";
import { engineBars } from "./engine-bars.ts";
import { fileBars } from "./file-bars.ts";
import { gatewayBars } from "./gateway-bars.ts";
import { httpBars } from "./http-bars.ts";
import { closeBrowser, pageBars } from "./page-bars.ts";
import { planBars } from "./plan-bars.ts";
import { screenBars } from "./screen-bars.ts";
import { textBars } from "./text-bars.ts";
import { workflowBars } from "./workflow-bars.ts";
import { workspaceBars } from "./workspace-bars.ts";

const allBars: readonly Bar[] = [
  ...[...textBars, ...fileBars, ...planBars, ...engineBars, ...workflowBars],
  ...[...workspaceBars, ...httpBars, ...gatewayBars, ...screenBars, ...pageBars],
];

/** The bars that `--bars` or `--bars=part-of-a-name` asks for; undefined without the option. */
export function barsWanted(words: readonly string[]): readonly Bar[] | undefined {
  const word = words.find((each) => each === "--bars" || each.startsWith("--bars="));
  if (word === undefined) return undefined;
  return allBars.filter(({ name }) => name.includes(word.slice("--bars=".length)));
}

/** Measures these bars one after the other, a line for each; gives the exit code. */
export async function runBars(
  bars: readonly Bar[],
  print: (text: string) => void,
): Promise<number> {
  const width = Math.max(0, ...bars.map(({ name }) => name.length));
  const missed: string[] = [];
  for (const bar of bars) {
    const { about, atMost, name } = bar;
    // The name first: a bar that never ends is named as well.
    print(name.padEnd(width + 2));
    try {
      const figure = await bar.measure();
      const isMet = figure <= atMost;
      if (!isMet) missed.push(name);
      print(
        `${figure.toFixed(2).padStart(7)}  at most ${String(atMost).padStart(3)}  ${isMet ? "met    " : "NOT MET"}  (${about})\n`,
      );
    } catch (error) {
      missed.push(name);
      print(`NOT MET: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  await closeBrowser();
  print(`${bars.length - missed.length} of ${bars.length} bars are met.\n`);
  return missed.length > 0 || bars.length === 0 ? 1 : 0;
}
