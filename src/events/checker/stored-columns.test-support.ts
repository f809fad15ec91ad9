/**
 * Every column of the databases, and what `verify` compares it with. `harmless` says why an edit need
 * not be found. The table of decision 048 says the same for people.
 */
export type Coverage = string | { readonly harmless: string };

const derived = (from: string): Coverage => ({
  harmless: `an index over ${from}: an edit makes a search find more or less, and nothing else`,
});
const clients: Coverage = {
  harmless: "answers to requests that a client may repeat: not evidence, and forgotten by age",
};
const liveness: Coverage = {
  harmless: "which processes live: written again every few seconds, and no part of what happened",
};

const usage: Coverage = {
  harmless:
    "what requests use of limits: an edit admits more or fewer requests from then on, as an edit of the limit would, and no part of what happened",
};

const counters: Coverage = {
  harmless:
    "counters: too low, something is counted anew; values that do harm are tested one by one (next_id, indexed_seq, references_seq, schema); pruned_at only moves the next look at retention",
};

export const storedColumns: Readonly<Record<string, Readonly<Record<string, Coverage>>>> = {
  event_batches: {
    first_seq: "numbers over all runs have no gap; the head file and a checkpoint have them too",
    run: "the hash chain begins with the run's id",
    first_run_seq: "numbers within the run have no gap",
    count: "how many events are stored",
    hash: "the hash chain of the run",
    events: "the hash chain of the run, to the letter",
  },
  run_index: {
    run: "what the store reads of a run is its log",
    first_seq: "what the store reads of a run is its log",
  },
  runs: {
    number: "the log has the run",
    task: "run.started",
    application: "run.started",
    workspace: "run.started",
    worker: "the last run.started or run.resumed",
    fence: "the last run.started or run.resumed",
    outcome: "run.finished",
    started_at: "the time of run.started",
    finished_at: "the time of run.finished",
    delegations: "how many the log creates",
    tokens: "the sum of what was settled",
    cost: "the sum of what was settled",
    profile: "the contract of the root",
    model: "the contract of the root",
    started_by: "the contract of the root",
  },
  sub_agents: {
    number: "the number in its id",
    run: "the log of that run creates it",
    id: "the log of its run creates it",
    status: "the fold of its events",
    close_reason: "the fold of its events",
    contract_hash: "agent.subagent_created",
    context_json: "the hash in agent.subagent_created",
  },
  asks: {
    number: "agent.asked",
    run: "the log of that run asks it",
    sub_agent_id: "agent.asked",
    answered: "agent.answered",
  },
  texts: {
    hash: "the contracts that refer to it",
    body: "its hash",
  },
  artifacts: {
    hash: "the events that refer to it",
    encoding: "its hash, by the bytes that it stands for",
    bytes: "its hash",
    kept_at: { harmless: "decides only when an artifact that nothing refers to may be removed" },
  },
  records: {
    resource_type: "control.record_changed",
    resource_id: "control.record_changed",
    version: "control.record_changed",
    value: "the hash in control.record_changed",
    updated_by: "control.record_changed",
    updated_at: "the time of control.record_changed",
  },
  record_versions: {
    resource_type: "control.record_changed",
    resource_id: "control.record_changed",
    version: "control.record_changed",
  },
  inbox: {
    seq: "the event that it follows from",
    run: "the event that it follows from",
    sub_agent_id: "the event that it follows from",
    at: "the event that it follows from",
    kind: "the event that it follows from",
    severity: "the event that it follows from",
    title: "the event that it follows from",
    text: "the event that it follows from",
    ask_id: "the event that it follows from",
    deadline_at: "the event that it follows from",
    ask_default: "the event that it follows from",
    is_open: "whether the log has an answer",
  },
  inbox_cursors: {
    reader: { harmless: "how far a reader has read: a reader may move it as well" },
    seq: { harmless: "how far a reader has read: a reader may move it as well" },
  },
  memories: {
    number: "the number in its id",
    id: "the event of the call that saved it",
    run: "the log of that run has the call",
    sub_agent_id: "the log of its run has the call",
    call_id: "the log of its run has the call",
    lineage: "the tree of its run, and the hash in the event of its call",
    profile: "agent.subagent_created, and the hash in the event of its call",
    workspace: "run.started, and the hash in the event of its call",
    scope: "the contract, and the hash in the event of its call",
    key: "the hash in the event of its call, or in the receipt of its run",
    slot: "scope, workspace, delegation and key",
    tags: "the hash in the event of its call, or in the receipt of its run",
    text: "the hash in the event of its call, or in the receipt of its run",
    supersedes: "the hash in the event of its call, or in the receipt of its run",
    created_at: "the hash in the event of its call, or in the receipt of its run",
    tag_list: derived("tags"),
    words: derived("text and tags"),
  },
  request_keys: {
    principal: clients,
    key: clients,
    fingerprint: clients,
    worker: clients,
    begun_at: clients,
    status: clients,
    reply: clients,
    token: clients,
  },
  body_references: {
    hash: "the events and contracts that have been read for references",
    run: "the events and contracts that have been read for references",
  },
  workers: {
    id: liveness,
    expires_at: liveness,
    enrolled_at: liveness,
    host: liveness,
    pid: liveness,
  },
  executors: {
    id: liveness,
    worker: liveness,
    enlisted_at: liveness,
    host: liveness,
    pid: liveness,
    version: liveness,
  },
  limit_holds: {
    ...{ sub_agent: usage, request: usage, day: usage, second: usage },
    ...{ provider: usage, queue: usage, tokens: usage, cost: usage },
  },
  limit_seconds: {
    ...{ second: usage, provider: usage, queue: usage, requests: usage, tokens: usage },
  },
  limit_days: { day: usage, cost: usage },
  meta: {
    key: counters,
    value: counters,
  },
};

/** What a word index of the embedded database keeps for itself. */
export const wordIndex = /^memory_words(_|$)/;
