/**
 * The schema, one step for each version. Never edit a step that has shipped: existing databases
 * have run it. Tables and columns have the names of the SQLite tables where they mean the same, so
 * that rows can be copied; `$schema` stands for the tenant's schema.
 *
 * Sequence numbers are assigned in order, under a lock, so `first_seq` is the order of the log.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE $schema.event_batches (
    first_seq BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    first_run_seq BIGINT NOT NULL,
    count INTEGER NOT NULL,
    hash TEXT NOT NULL,
    events TEXT NOT NULL
  );
  CREATE INDEX event_batches_of_run ON $schema.event_batches (run, first_seq);

  CREATE TABLE $schema.runs (
    number BIGINT PRIMARY KEY,
    task TEXT NOT NULL,
    application TEXT NOT NULL,
    workspace TEXT,
    worker TEXT NOT NULL,
    fence INTEGER NOT NULL,
    outcome TEXT,
    started_at BIGINT NOT NULL,
    finished_at BIGINT,
    delegations INTEGER NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0,
    cost DOUBLE PRECISION NOT NULL DEFAULT 0
  );
  CREATE INDEX runs_open ON $schema.runs (number) WHERE outcome IS NULL;

  CREATE TABLE $schema.sub_agents (
    number BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    close_reason TEXT,
    contract_hash TEXT NOT NULL,
    context_json TEXT NOT NULL
  );

  CREATE TABLE $schema.asks (
    number BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    sub_agent_id TEXT NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0
  );

  CREATE TABLE $schema.texts (hash TEXT PRIMARY KEY, body TEXT NOT NULL);
  -- The bytes of a body, in UTF-8 or, where it is no well-formed text, in UTF-16.
  CREATE TABLE $schema.artifacts (hash TEXT PRIMARY KEY, encoding TEXT NOT NULL, bytes BYTEA NOT NULL);

  CREATE TABLE $schema.records (
    resource_type TEXT COLLATE "C" NOT NULL,
    resource_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    value TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (resource_type, resource_id)
  );
  -- The greatest version of every id, also of one whose record is gone: none is used twice.
  CREATE TABLE $schema.record_versions (
    resource_type TEXT COLLATE "C" NOT NULL,
    resource_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (resource_type, resource_id)
  );

  CREATE TABLE $schema.inbox (
    seq BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    sub_agent_id TEXT,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    ask_id TEXT,
    deadline_at BIGINT,
    ask_default TEXT,
    is_open INTEGER
  );
  CREATE INDEX inbox_open ON $schema.inbox (ask_id) WHERE is_open = 1;
  CREATE INDEX inbox_of_run ON $schema.inbox (run, seq);
  CREATE TABLE $schema.inbox_cursors (reader TEXT PRIMARY KEY, seq BIGINT NOT NULL);

  CREATE TABLE $schema.memories (
    number BIGINT PRIMARY KEY,
    id TEXT NOT NULL,
    run BIGINT NOT NULL,
    sub_agent_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    lineage TEXT NOT NULL,
    profile TEXT NOT NULL,
    workspace TEXT,
    scope TEXT NOT NULL,
    key TEXT,
    slot TEXT,
    tags TEXT NOT NULL,
    text TEXT NOT NULL,
    supersedes TEXT,
    created_at BIGINT NOT NULL,
    -- What is searched; both follow from tags and text.
    tag_list TEXT[] NOT NULL,
    words TSVECTOR NOT NULL,
    UNIQUE (sub_agent_id, call_id)
  );
  CREATE INDEX memories_of_run ON $schema.memories (run);
  CREATE INDEX memories_in_slot ON $schema.memories (slot, number) WHERE slot IS NOT NULL;
  CREATE INDEX memories_by_words ON $schema.memories USING GIN (words);

  -- Requests that came with a key, and what they were answered with. No status: not answered yet.
  CREATE TABLE $schema.request_keys (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    worker TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    status INTEGER,
    reply TEXT,
    -- Of the call that began it, which may not have heard that it did.
    token TEXT,
    PRIMARY KEY (principal, key)
  );
  CREATE INDEX request_keys_by_age ON $schema.request_keys (begun_at);

  -- Who lives, by the clock of the database alone.
  CREATE TABLE $schema.workers (
    id TEXT PRIMARY KEY,
    expires_at TIMESTAMPTZ NOT NULL,
    enrolled_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    host TEXT NOT NULL,
    pid INTEGER NOT NULL
  );
  `,

  `
  -- Who takes work out of queues, under a name that outlives its lease.
  CREATE TABLE $schema.executors (
    id TEXT PRIMARY KEY,
    worker TEXT NOT NULL,
    enlisted_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    host TEXT NOT NULL,
    pid INTEGER NOT NULL
  );
  `,
  `
  -- When it was kept last: what was kept lately may be about to be referred to.
  ALTER TABLE $schema.artifacts ADD COLUMN kept_at TIMESTAMPTZ NOT NULL DEFAULT now();
  -- Which runs refer to which texts and artifacts, as far as the log was read for it (meta:
  -- references_seq). Brought up to date when something is pruned, see keepUpReferences.
  CREATE TABLE $schema.body_references (hash TEXT, run BIGINT, PRIMARY KEY (hash, run));
  CREATE INDEX body_references_of_run ON $schema.body_references (run);
  `,
  `
  -- A cancelled run was listed as failed: its root, the first delegation, was closed as cancelled.
  UPDATE $schema.runs SET outcome = 'cancelled' WHERE outcome = 'failed' AND number IN (
    SELECT run FROM (
      SELECT DISTINCT ON (run) run, close_reason FROM $schema.sub_agents ORDER BY run, number
    ) AS roots WHERE close_reason = 'cancelled'
  );
  `,
  `
  -- The events one by one, as the embedded database shows them.
  CREATE VIEW $schema.events AS
    SELECT first_seq + place - 1 AS seq, run, first_run_seq + place - 1 AS run_seq,
           event ->> 0 AS type, event ->> 1 AS sub_agent_id, (event ->> 2)::numeric AS at,
           coalesce(event ->> 4, event ->> 0) AS summary, event -> 3 AS payload
    FROM $schema.event_batches,
         json_array_elements(events::json) WITH ORDINALITY AS listed (event, place);
  `,
  `
  -- What model requests use of stored limits (see UsageStore): what is held for requests that are not
  -- settled, what was admitted in each second, and what was settled on each day, in billionths of a
  -- dollar.
  CREATE TABLE $schema.limit_holds (
    sub_agent BIGINT NOT NULL,
    request INTEGER NOT NULL,
    day BIGINT NOT NULL,
    second BIGINT NOT NULL,
    provider TEXT NOT NULL,
    queue TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (sub_agent, request)
  );
  CREATE TABLE $schema.limit_seconds (
    second BIGINT NOT NULL,
    provider TEXT NOT NULL,
    queue TEXT NOT NULL,
    requests BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (second, provider, queue)
  );
  CREATE TABLE $schema.limit_days (day BIGINT PRIMARY KEY, cost BIGINT NOT NULL);
  -- The version of the program that takes work; null: one before this was registered.
  ALTER TABLE $schema.executors ADD COLUMN version TEXT;
  `,
  `
  -- What lists show and filter by, from the contract of the root. A damaged contract says nothing.
  ALTER TABLE $schema.runs ADD COLUMN profile TEXT, ADD COLUMN model TEXT, ADD COLUMN started_by TEXT;
  CREATE FUNCTION $schema.contract_text(body text, path text[]) RETURNS text LANGUAGE plpgsql AS '
    BEGIN RETURN body::json #>> path; EXCEPTION WHEN others THEN RETURN NULL; END';
  UPDATE $schema.runs SET
    profile = $schema.contract_text(body, ARRAY['profile', 'id']),
    started_by = $schema.contract_text(body, ARRAY['principal', 'id']),
    model = $schema.contract_text(body, ARRAY['model', 'provider']) || '/' ||
      $schema.contract_text(body, ARRAY['model', 'model'])
  FROM (
    SELECT DISTINCT ON (run) run, context_json AS body FROM $schema.sub_agents
    WHERE $schema.contract_text(context_json, ARRAY['parent', 'sub_agent_id']) IS NULL
      AND $schema.contract_text(context_json, ARRAY['parent', 'depth']) = '0'
    ORDER BY run, number
  ) AS roots WHERE roots.run = number;
  DROP FUNCTION $schema.contract_text;
  -- Lists are in this order; of the open runs there are few.
  CREATE INDEX runs_by_start ON $schema.runs (started_at, number);
  DROP INDEX $schema.runs_open;
  CREATE INDEX runs_open ON $schema.runs (started_at, number) WHERE outcome IS NULL;
  `,
];
