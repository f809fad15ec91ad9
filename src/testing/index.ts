/** What users import to test their own agents, and stores of their own: `mandate/testing`. */
export { type VerifyOptions, verifyHome } from "../application/verify-home.ts";
export { compareRuns, type RunDifference } from "../delegations/replay/compare-runs.ts";
export { replayModel } from "../delegations/replay/recorded-model.ts";
export { type Recording, recordingOf } from "../delegations/replay/recording.ts";
export { type ReplayedRun, replayRun } from "../delegations/replay/replay-run.ts";
export type { CheckReport, Invariant, Violation } from "../events/checker/check-report.ts";
export { type Acknowledged, type CheckOptions, checkStore } from "../events/checker/check-store.ts";
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
  openRecordedStore,
  recording,
  type TestEngine,
  testProfile,
} from "./engine-fixture.ts";
export { exampleContract } from "./example-contract.ts";
export { ManualClock, type ManualClockOptions } from "./manual-clock.ts";
export { storeSuite, type TestRunner } from "./store-suite.ts";
export type { StoreUnderTest } from "./stored-run.ts";
export { until } from "./until.ts";
