import { testDeaths } from "./recovery.test-support.ts";

testDeaths(1);
