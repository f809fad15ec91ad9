import { DefaultReporter, type TestCase, type TestModule } from "vitest/node";

/** As many names as leave room for the rest of the summary on one screen. */
const mostNames = 15;

/**
 * One line for each file, then what failed in full, then a summary of at most a screen that ends
 * with the names of what failed. When a single file is run, each test has its line.
 */
export class OneLinePerFile extends DefaultReporter {
  #isSingleFile = false;

  override onTestRunStart(...started: Parameters<DefaultReporter["onTestRunStart"]>): void {
    this.#isSingleFile = started[0].length === 1;
    super.onTestRunStart(...started);
  }

  protected override printTestCase(state: ReturnType<TestModule["state"]>, test: TestCase): void {
    if (this.#isSingleFile) super.printTestCase(state, test);
  }

  override onTestRunEnd(...ended: Parameters<DefaultReporter["onTestRunEnd"]>): void {
    super.onTestRunEnd(...ended);
    const [modules] = ended;
    this.#list("Skipped:", modules.flatMap(skippedIn));
    this.#list("Failed:", modules.flatMap(failedIn));
  }

  #list(title: string, names: readonly string[]): void {
    if (names.length === 0) return;
    this.log(title);
    for (const name of names.slice(0, mostNames)) this.log(`  ${name}`);
    if (names.length > mostNames) this.log(`  and ${names.length - mostNames} more`);
  }
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
  const tests = [...module.children.allTests("failed")].map(
    (test) => `${module.relativeModuleId} > ${test.fullName}`,
  );
  const isBroken = tests.length === 0 && module.state() === "failed";
  return isBroken ? [`${module.relativeModuleId} (outside its tests)`] : tests;
}
