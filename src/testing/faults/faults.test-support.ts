/** One fault, and the tests that bring it about: `file > part of a title`, from the root. */
export interface Fault {
  readonly fault: string;
  /** Besides those of this folder, which carry its number in their titles. */
  readonly tests: readonly string[];
}

/**
 * Every fault by its number. For each there are tests here whose titles begin with `fault N:`, and
 * which hold four things against what was promised: the state of the child, the names of the events
 * in its log, what its caller is told, and what is left on disk; then the checker runs.
 */
export const faults: Readonly<Record<number, Fault>> = {
  1: {
    fault: "a worker that is killed in a call",
    tests: [
      "src/delegations/recovery/recovery-of-calls.test.ts > is made again when its tool is idempotent",
      "src/delegations/recovery/recovery-of-calls.test.ts > is given up after three resumptions",
      "src/delegations/recovery/resumptions.test.ts > with progress in between are not counted together",
    ],
  },
  2: {
    fault: "a runtime that is killed while children run",
    tests: [
      "src/delegations/recovery/recovery.test-support.ts > a process may die after any transaction",
      "src/stores/sqlite/processes.test.ts > hand those of the killed to one",
      "src/tools/shell/shell-processes.test.ts > even when that is killed without a word",
    ],
  },
  3: {
    fault: "a kill between an output and what says so",
    tests: ["src/testing/crash-points.test.ts > ends as if nothing had happened"],
  },
  4: {
    fault: "a kill in the middle of a merge",
    tests: [
      "src/workspaces/git/integration/recover-integration.deep.test.ts > the files are the old or the new ones once recovered",
      "src/workspaces/git/integration/recover-integration.deep.test.ts > killed again while it recovers",
    ],
  },
  5: {
    fault: "a kill at the moment of an end",
    tests: [
      "src/delegations/recovery/recovery.test-support.ts > two processes may die one after the other",
    ],
  },
  6: {
    fault: "a 429, with and without a word on when to come back",
    tests: [
      "src/delegations/turns/provider-faults.deep.test.ts > one that asks for more time than there is fails at once",
      "src/models/wire-faults.test.ts > 429 with a date to come back, or milliseconds",
    ],
  },
  7: {
    fault: "a provider that is overloaded",
    tests: [
      "src/delegations/turns/provider-faults.deep.test.ts > asked again with jittered, growing",
    ],
  },
  8: {
    fault: "a stream that is cut inside a call",
    tests: ["src/models/wire-faults.test.ts > inside a call's arguments, the text is kept"],
  },
  9: {
    fault: "calls that are malformed or unknown",
    tests: [
      "src/delegations/turns/model-faults.test.ts > is an error result that the model can mend",
    ],
  },
  10: {
    fault: "an answer that is empty or cut",
    tests: ["src/delegations/turns/model-faults.test.ts > makes none of its calls"],
  },
  11: {
    fault: "the same call again and again",
    tests: [
      "src/delegations/turns/model-faults.test.ts > counts as the same whatever words come with it",
    ],
  },
  12: {
    fault: "a conversation that is too long",
    tests: ["src/delegations/turns/provider-faults.deep.test.ts > and not sent again in vain"],
  },
  13: {
    fault: "a budget that is nearly spent",
    tests: [
      "src/delegations/turns/budget.test.ts > withdraws the tools, takes one last turn",
      "src/delegations/turns/budget-race.test.ts > fifty children never overspend over the wire either",
    ],
  },
  14: {
    fault: "a timeout that nobody listens to",
    tests: [
      "src/delegations/deadlines.test.ts > notes a result that comes too late as an event",
      "src/tools/shell/shell-processes.test.ts > is killed when it does not listen",
    ],
  },
  15: {
    fault: "a cancel that races the end",
    tests: [
      "src/delegations/ends/cancel.test.ts > has one winner, whichever comes first",
      "src/delegations/ends/other-process.test.ts > has one winner when both cancel",
    ],
  },
  16: { fault: "a full disk", tests: [] },
  17: {
    fault: "a Postgres that goes away",
    tests: [
      "src/stores/postgres/faults.deep.test.ts > when a commit gets no answer",
      "src/stores/postgres/faults.deep.test.ts > is heard again after its line was cut",
    ],
  },
  18: {
    fault: "a worker that was stopped and comes back",
    tests: [
      "src/stores/postgres/processes.deep.test.ts > refuse one that was stopped",
      "src/stores/dbos/dbos-engine.deep.test.ts > refuse it when it comes back",
    ],
  },
  19: {
    fault: "a clock that jumps",
    tests: [
      "src/stores/postgres/worker-lease.deep.test.ts > one that is an hour off changes nothing",
      "src/delegations/attempt-timeout.test.ts > what an attempt has used is known after a crash",
    ],
  },
  20: {
    fault: "far too much of something",
    tests: [
      "src/delegations/turns/large-output.deep.test.ts > of 100 MB of tool output",
      "src/surfaces/http/streams/sse-many-clients.deep.test.ts > stall without anybody paying for it",
      "src/surfaces/http/streams/sse-slow-clients.test.ts > and later misses nothing of it",
    ],
  },
};

/** What providers do. Each is a part of the title of a test that begins with `provider fault:`. */
export const providerFaults: readonly string[] = [
  "an HTML page with status 502",
  "an HTML page with status 200",
  "an HTML page as the words of the model",
  "a call that stands in the text",
  "parallel calls with the same id",
  "a call without an id",
  "arguments %s are refused",
  "a refusal by a filter",
  "a refusal in place of content",
  "only says DONE",
  "a [DONE] and nothing else",
  "a [DONE] in the middle",
  "fake ids name nobody",
  "empty choices",
  "choices that are no list",
  "usage that is missing",
  "usage that is no number",
  "usage that is %s is not believed",
  "a finish reason that nobody knows",
  "another model than the pinned one",
  "a %i is not asked again",
  "a 413",
  "a redirect is not followed",
  "a connection that is reset before the headers",
  "a connection that is reset after the headers",
  "a connection that breaks once",
  "a stream that ends at once",
  "a stream of something else",
  "a stream that is no text",
  "a stream that stops in the middle and never ends",
  "a stream without end %s",
  "a slow trickle",
  "an answer without streaming",
  "unfolds to a large one",
];
