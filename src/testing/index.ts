/** What users import to test their own agents, and stores of their own: `mandate/testing`. */
export { type VerifyOptions, verifyHome } from "../commands/verify-home.ts";
export type { CheckReport, Invariant, Violation } from "../events/check-report.ts";
export { type Acknowledged, type CheckOptions, checkStore } from "../events/check-store.ts";
export { loadPlaybook, parsePlaybook } from "../models/scripted/load-playbook.ts";
export type {
  Playbook,
  PlaybookReply,
  ScriptedCall,
  ScriptedFault,
  ScriptedReply,
  When,
} from "../models/scripted/playbook.ts";
export { type Script, scriptedModel } from "../models/scripted/scripted-model.ts";
export { type CrashPoint, crashPoints } from "./crash-points.ts";
export {
  type EngineOptions,
  type FinishedRun,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "./engine-fixture.ts";
export { exampleContract } from "./example-contract.ts";
export { type StoreUnderTest, storeSuite, type TestRunner } from "./store-suite.ts";
