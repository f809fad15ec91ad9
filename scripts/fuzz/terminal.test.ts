import { chatScreens, commandLine, shownTexts } from "./targets/terminal-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([chatScreens, commandLine, shownTexts]);
