import { testDeaths } from "./interrupt-deaths.test-support.ts";

testDeaths(1);
