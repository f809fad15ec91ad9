import { noRootFacts } from "../../events/root-facts.ts";
import type { RunState } from "../../events/run-state.ts";
import { askNumberOf, numberOf, runNumberOf } from "../../ports/identity.ts";
import { isTrusted } from "../shared/store-calls.ts";
import { runTotals } from "../shared/stored-rows.ts";
import type { Transaction } from "../shared/transaction.ts";
import type { Row } from "./database.ts";
import { encodeOrNull, encodeText } from "./stored-text.ts";
import { jsonText, type WriteStatement } from "./write-line.ts";

type Value = string | number | null;

/**
 * The stored state of runs, delegations and asks: written with the events that it is derived from.
 */
export function writeProjections(
  statement: WriteStatement,
  schema: string,
  transaction: Transaction,
): void {
  writeRuns(statement, schema, transaction);
  writeDelegations(statement, schema, transaction);
  writeAsks(statement, schema, transaction);
}

function writeRuns(statement: WriteStatement, schema: string, transaction: Transaction): void {
  const { movedRuns } = transaction;
  const roots = transaction.roots();
  const factsOf = (run: RunState): Value[] => {
    const { model, profile, startedBy } = roots.get(run) ?? noRootFacts;
    return [profile, model, startedBy].map(encodeOrNull);
  };
  const started: Value[][] = [];
  const moved: Value[][] = [];
  for (const [run, isNew] of movedRuns) {
    const number = runNumberOf(run.id) ?? 0;
    // Every store writes usage when the owner of a run changes and when the run finishes.
    const isCounted = !isNew || run.outcome !== null;
    const { tokens, cost } = isCounted ? runTotals(run) : { tokens: 0, cost: 0 };
    const state = [
      ...[encodeText(run.worker), run.fence, run.outcome, run.finishedAt],
      ...[isCounted ? run.delegations.size : 0, tokens, cost],
    ];
    const said = [encodeText(run.task), encodeText(run.application), encodeOrNull(run.workspace)];
    if (isNew) started.push([number, ...state, ...factsOf(run), ...said, run.startedAt]);
    else moved.push([number, ...state, ...factsOf(run)]);
  }
  // A statement may change a row only once.
  const rooted = [...roots.keys()]
    .filter((run) => !movedRuns.has(run))
    .map((run) => [runNumberOf(run.id) ?? 0, ...factsOf(run)]);
  const columns = [
    ["number", "bigint"],
    ["worker", "text"],
    ["fence", "integer"],
    ["outcome", "text"],
    ["finished_at", "bigint"],
    ["delegations", "integer"],
    ["tokens", "bigint"],
    ["cost", "double precision"],
  ] as const;
  const facts = [
    ["profile", "text"],
    ["model", "text"],
    ["started_by", "text"],
  ] as const;
  const added = [
    ["task", "text"],
    ["application", "text"],
    ["workspace", "text"],
    ["started_at", "bigint"],
  ] as const;
  const names = [...columns, ...facts, ...added].map(([name]) => name).join(", ");
  statement.add(
    "new_runs",
    [...columns, ...facts, ...added],
    started,
    (rows) => `INSERT INTO ${schema}.runs (${names}) SELECT * FROM ${rows}`,
  );
  const sets = columns.slice(1).map(([name]) => `${name} = v.${name}`);
  const named = facts.map(([name]) => `${name} = coalesce(v.${name}, r.${name})`);
  statement.add(
    "moved_runs",
    [...columns, ...facts],
    moved,
    (rows) =>
      `UPDATE ${schema}.runs r SET ${[...sets, ...named].join(", ")} FROM ${rows} WHERE r.number = v.number`,
  );
  statement.add(
    "rooted_runs",
    [["number", "bigint"], ...facts],
    rooted,
    (rows) =>
      `UPDATE ${schema}.runs r SET ${named.join(", ")} FROM ${rows} WHERE r.number = v.number`,
  );
}

function writeDelegations(
  statement: WriteStatement,
  schema: string,
  { movedDelegations }: Transaction,
): void {
  const made: Value[][] = [];
  const moved: Value[][] = [];
  for (const [id, { contract, run }] of movedDelegations) {
    const delegation = run.delegations.get(id);
    if (delegation === undefined) continue;
    const { contractHash, status } = delegation;
    const closeReason = status === "closed" ? delegation.closeReason : null;
    const state = [numberOf(id) ?? 0, status, closeReason];
    if (contract === undefined) moved.push(state);
    else made.push([...state, runNumberOf(run.id) ?? 0, id, contractHash, contract]);
  }
  const columns = [
    ["number", "bigint"],
    ["status", "text"],
    ["close_reason", "text"],
  ] as const;
  statement.add(
    "new_sub_agents",
    [
      ...columns,
      ["run", "bigint"],
      ["id", "text"],
      ["contract_hash", "text"],
      ["context_json", jsonText],
    ],
    made,
    (rows) =>
      `INSERT INTO ${schema}.sub_agents (number, status, close_reason, run, id, contract_hash, context_json) SELECT * FROM ${rows}`,
  );
  // Postgres computes the hash of the contract, so that the long text is not sent with every
  // update.
  statement.add(
    movedDelegationsPart,
    columns,
    moved,
    (rows) =>
      `UPDATE ${schema}.sub_agents s SET status = v.status, close_reason = v.close_reason
       FROM ${rows} WHERE s.number = v.number
       RETURNING s.number, pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(s.context_json, 'UTF8')), 'hex') AS hash`,
  );
}

export const movedDelegationsPart = "moved_sub_agents";

/** By number: the updated delegations, with the hash that their stored contract must have. */
export function movedContracts({
  movedDelegations,
}: Transaction): ReadonlyMap<number, readonly [id: string, hash: string]> {
  const expected = new Map<number, readonly [string, string]>();
  for (const [id, { contract, run }] of movedDelegations) {
    const delegation = run.delegations.get(id);
    if (contract !== undefined || delegation === undefined || isTrusted(delegation)) continue;
    expected.set(numberOf(id) ?? 0, [id, delegation.contractHash]);
  }
  return expected;
}

/** The delegations whose stored contract was modified, according to the updated rows. */
export function tamperedAmong(
  expected: ReturnType<typeof movedContracts>,
  rows: readonly Row[],
): readonly string[] {
  const hashes = new Map(rows.map((row) => [Number(row["number"]), row["hash"]]));
  return [...expected].flatMap(([number, [id, hash]]) => (hashes.get(number) === hash ? [] : [id]));
}

function writeAsks(statement: WriteStatement, schema: string, { asks }: Transaction): void {
  const asked = new Map<number, Value[]>();
  const answered: Value[][] = [];
  for (const [run, event] of asks) {
    const number = askNumberOf(event.payload.ask_id) ?? 0;
    const made = asked.get(number);
    if (event.type === "agent.asked") {
      asked.set(number, [number, runNumberOf(run.id) ?? 0, event.sub_agent_id ?? "", 0]);
    } else if (made !== undefined) made[3] = 1;
    else answered.push([number]);
  }
  statement.add(
    "new_asks",
    [
      ["number", "bigint"],
      ["run", "bigint"],
      ["sub_agent_id", "text"],
      ["answered", "integer"],
    ],
    [...asked.values()],
    (rows) =>
      `INSERT INTO ${schema}.asks (number, run, sub_agent_id, answered) SELECT * FROM ${rows}`,
  );
  statement.add(
    "answered_asks",
    [["number", "bigint"]],
    answered,
    (rows) => `UPDATE ${schema}.asks a SET answered = 1 FROM ${rows} WHERE a.number = v.number`,
  );
}
