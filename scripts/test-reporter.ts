import { Console } from "node:console";
import { stripVTControlCharacters } from "node:util";
import {
  DefaultReporter,
  type SerializedError,
  type TestCase,
  type TestModule,
  type Vitest,
} from "vitest/node";

/** As many names as leave room for the rest of the summary on one screen. */
const mostNames = 15;
const mostSkipped = 8;
/** Longer lines would take two of a log or of a screen. */
const widest = 160;

/**
 * One line for each file, then what failed in full, then a summary of at most a screen that ends
 * with the names of what failed and why. When a single file is run, each test has its line.
 */
export class OneLinePerFile extends DefaultReporter {
  #isSingleFile = false;

  override onInit(vitest: Vitest): void {
    vitest.logger.console = new Console({
      stdout: colorsOnlyFor(process.stdout),
      stderr: colorsOnlyFor(process.stderr),
    });
    super.onInit(vitest);
  }

  override onTestRunStart(...started: Parameters<DefaultReporter["onTestRunStart"]>): void {
    this.#isSingleFile = started[0].length === 1;
    super.onTestRunStart(...started);
  }

  protected override printTestCase(state: ReturnType<TestModule["state"]>, test: TestCase): void {
    if (this.#isSingleFile) super.printTestCase(state, test);
  }

  override onTestRunEnd(...ended: Parameters<DefaultReporter["onTestRunEnd"]>): void {
    super.onTestRunEnd(...ended);
    const [modules, errors] = ended;
    this.#list("Skipped:", mostSkipped, modules.flatMap(skippedIn));
    const loose = errors.map((error) => `outside of every test${reasonOf([error])}`);
    this.#list("Failed:", mostNames, [...modules.flatMap(failedIn), ...loose]);
  }

  #list(title: string, most: number, names: readonly string[]): void {
    if (names.length === 0) return;
    this.log(title);
    for (const name of names.slice(0, most)) {
      this.log(`  ${name.length > widest ? `${name.slice(0, widest - 1)}…` : name}`);
    }
    if (names.length > most) this.log(`  and ${names.length - most} more`);
  }
}

/**
 * The stream itself where it is a terminal or colours are asked for, else one without their codes:
 * a log is read as text. Vitest colours for every TERM, and in the processes of the tests as well.
 */
function colorsOnlyFor(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.isTTY || process.env["FORCE_COLOR"] !== undefined) return stream;
  return new Proxy(stream, {
    get(target, key) {
      if (key === "write") {
        return (text: string, done?: (error?: Error | null) => void) =>
          target.write(stripVTControlCharacters(text), done);
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** With the reason, which many titles name, where no note does. */
function skippedIn(module: TestModule): string[] {
  const skipped = [...module.children.allTests("skipped")];
  const [first] = skipped;
  if (first === undefined) return [];
  return [`${module.relativeModuleId} (${skipped.length}): ${noteOf(first) ?? first.fullName}`];
}

function noteOf(test: TestCase): string | undefined {
  const result = test.result();
  return result.state === "skipped" ? result.note : undefined;
}

function failedIn(module: TestModule): string[] {
  const file = module.relativeModuleId;
  const tests = [...module.children.allTests("failed")].map(
    (test) => `${file} > ${test.fullName}${reasonOf(test.result().errors)}`,
  );
  const isBroken = tests.length === 0 && module.state() === "failed";
  return isBroken ? [`${file} (outside its tests)${reasonOf(module.errors())}`] : tests;
}

/** The first line of what was thrown. */
function reasonOf(errors: readonly SerializedError[] = []): string {
  const [line = ""] = stripVTControlCharacters(errors[0]?.message ?? "").split("\n");
  return line === "" ? "" : `: ${line}`;
}
