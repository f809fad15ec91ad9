/**
 * The schema, one step for each version. Never edit a step that has shipped: existing databases
 * have run it.
 *
 * Events are stored in batches: all events that one transaction adds to one run are one row,
 * because the cost of a write in SQLite is the number of pages touched, not the number of bytes.
 * `first_seq` is the sequence number of the first event, so two processes that both write the next
 * batch collide on the primary key.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE event_batches (
    first_seq INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    first_run_seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    hash TEXT NOT NULL,
    events TEXT NOT NULL
  );
  -- Which batches are a run's. Filled in bulk, see RunIndex: what is not in it yet is read in order.
  CREATE TABLE run_index (run INTEGER, first_seq INTEGER, PRIMARY KEY (run, first_seq)) WITHOUT ROWID;

  CREATE VIEW events AS
    SELECT first_seq + key AS seq, run, first_run_seq + key AS run_seq,
           value ->> 0 AS type, value ->> 1 AS sub_agent_id, value ->> 2 AS at,
           value -> 3 AS payload
    FROM event_batches, json_each(event_batches.events);

  CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    application TEXT NOT NULL,
    workspace TEXT,
    worker TEXT NOT NULL,
    fence INTEGER NOT NULL,
    outcome TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    delegations INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    cost REAL NOT NULL DEFAULT 0
  );

  CREATE TABLE sub_agents (
    number INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    close_reason TEXT,
    contract_hash TEXT NOT NULL,
    context_json TEXT NOT NULL
  );

  CREATE TABLE asks (
    number INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    sub_agent_id TEXT NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0
  );

  CREATE TABLE texts (hash TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
  `,
  `
  CREATE TABLE records (
    resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (resource_type, resource_id)
  );
  -- The greatest version of every id, also of one whose record is gone: none is used twice.
  CREATE TABLE record_versions (
    resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (resource_type, resource_id)
  ) WITHOUT ROWID;
  `,
  `
  -- The inbox, a row for an event that is one. ask_id and what follows are of asks and approvals.
  CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    sub_agent_id TEXT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    ask_id TEXT,
    deadline_at INTEGER,
    ask_default TEXT,
    is_open INTEGER
  );
  -- Few are open at any time, so this costs nothing but where one is opened or closed.
  CREATE INDEX inbox_open ON inbox (ask_id) WHERE is_open = 1;
  CREATE TABLE inbox_cursors (reader TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
  `,
  `
  -- Added to and never changed; what people decide about one is a record. What is indexed for
  -- searching follows from these rows, see MemoryIndex.
  CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    run INTEGER NOT NULL,
    sub_agent_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    lineage TEXT NOT NULL,
    profile TEXT NOT NULL,
    workspace TEXT,
    scope TEXT NOT NULL,
    key TEXT,
    -- Those of one slot stand in each other's place: the latest counts.
    slot TEXT,
    tags TEXT NOT NULL,
    text TEXT NOT NULL,
    supersedes TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (sub_agent_id, call_id)
  );
  CREATE INDEX memories_of_run ON memories (run);
  CREATE INDEX memories_in_slot ON memories (slot, number) WHERE slot IS NOT NULL;
  `,
  `
  -- Requests that came with a key, and what they were answered with. No status: not answered yet.
  CREATE TABLE request_keys (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    worker TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    status INTEGER,
    reply TEXT,
    PRIMARY KEY (principal, key)
  ) WITHOUT ROWID;
  CREATE INDEX request_keys_by_age ON request_keys (begun_at);
  `,
  `
  -- Which runs refer to which texts and artifacts, as far as the log was read for it (meta:
  -- references_seq). Brought up to date when something is pruned, see keepUpReferences.
  CREATE TABLE body_references (hash TEXT, run INTEGER, PRIMARY KEY (hash, run)) WITHOUT ROWID;
  CREATE INDEX body_references_of_run ON body_references (run);
  `,
  `
  -- A cancelled run was listed as failed: its root, the first delegation, was closed as cancelled.
  -- (SQLite takes the other columns of a group from the row that has the MIN.)
  UPDATE runs SET outcome = 'cancelled' WHERE outcome = 'failed' AND number IN (
    SELECT run FROM (SELECT run, close_reason, MIN(number) FROM sub_agents GROUP BY run)
    WHERE close_reason = 'cancelled'
  );
  `,
  `
  -- Events have a line for people. Those of earlier versions have none stored: their type is shown.
  DROP VIEW events;
  CREATE VIEW events AS
    SELECT first_seq + key AS seq, run, first_run_seq + key AS run_seq,
           value ->> 0 AS type, value ->> 1 AS sub_agent_id, value ->> 2 AS at,
           coalesce(value ->> 4, value ->> 0) AS summary, value -> 3 AS payload
    FROM event_batches, json_each(event_batches.events);
  `,
  `
  -- What model requests use of stored limits (see UsageStore): what is held for requests that are not
  -- settled, what was admitted in each second, and what was settled on each day, in billionths of a
  -- dollar.
  CREATE TABLE limit_holds (
    sub_agent INTEGER NOT NULL,
    request INTEGER NOT NULL,
    day INTEGER NOT NULL,
    second INTEGER NOT NULL,
    provider TEXT NOT NULL,
    queue TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (sub_agent, request)
  );
  CREATE TABLE limit_seconds (
    second INTEGER NOT NULL,
    provider TEXT NOT NULL,
    queue TEXT NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (second, provider, queue)
  );
  CREATE TABLE limit_days (day INTEGER PRIMARY KEY, cost INTEGER NOT NULL);
  `,
  `
  -- What lists show and filter by, from the contract of the root. A damaged contract says nothing.
  ALTER TABLE runs ADD COLUMN profile TEXT;
  ALTER TABLE runs ADD COLUMN model TEXT;
  ALTER TABLE runs ADD COLUMN started_by TEXT;
  WITH roots AS (
    -- (SQLite takes the other columns of a group from the row that has the MIN.)
    SELECT run, context_json AS body, MIN(number) FROM sub_agents
    WHERE json_valid(context_json) AND context_json ->> '$.parent.sub_agent_id' IS NULL
      AND context_json ->> '$.parent.depth' = 0
    GROUP BY run
  )
  UPDATE runs SET profile = body ->> '$.profile.id', started_by = body ->> '$.principal.id',
    model = body ->> '$.model.provider' || '/' || (body ->> '$.model.model')
  FROM roots WHERE roots.run = runs.number;
  -- Lists are in this order; of the open runs there are few.
  CREATE INDEX runs_by_start ON runs (started_at, number);
  CREATE INDEX runs_open ON runs (started_at, number) WHERE outcome IS NULL;
  `,
];
