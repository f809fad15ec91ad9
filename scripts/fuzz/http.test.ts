import { rawConnections, repeatedRequests } from "./targets/connection-targets.ts";
import { httpRequests } from "./targets/http-targets.ts";
import { testTargets } from "./test-targets.ts";

testTargets([httpRequests, rawConnections, repeatedRequests]);
