import type { Row } from "./stored-rows.ts";

/** A statement for both databases: `?` stands for each value, in order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export type SqlValue = string | number | null | readonly (string | number)[];

/** The differences between the databases that such statements need. */
export interface SqlDialect {
  /** Stands before the name of each table: a schema with its dot, or nothing. */
  readonly schema: string;
  /** A condition: the value of the column is in a list, which is one value of the statement. */
  isIn(column: string): string;
  /** Rows `(hash, run)` from one value: a JSON array of pairs. */
  readonly pairs: string;
  /** The function that returns the greater of two numbers. */
  readonly greatest: string;
  /** Escapes what the database cannot store in a text. Not for JSON that is hashed. */
  encode(text: string): string;
  /** Restores the texts of a row that were encoded. */
  decode(row: Row): Row;
}

/**
 * A transaction, written once for a synchronous and an asynchronous database: it yields statements
 * that do not depend on each other, and continues with the rows of each.
 */
export type Steps<Result> = Generator<readonly Sql[], Result, readonly (readonly Row[])[]>;

export function sql(text: string, ...values: readonly SqlValue[]): Sql {
  return { text, values };
}

/** One statement as a step, and its rows. */
export function* rowsOf(statement: Sql): Steps<readonly Row[]> {
  const [rows = []] = yield [statement];
  return rows;
}

export function runSteps<Result>(
  steps: Steps<Result>,
  query: (statement: Sql) => readonly Row[],
): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next(step.value.map(query));
  return step.value;
}

/** Sends the statements of one step together. */
export async function runStepsAsync<Result>(
  steps: Steps<Result>,
  query: (statement: Sql) => Promise<readonly Row[]>,
): Promise<Result> {
  let step = steps.next();
  while (step.done !== true) step = steps.next(await Promise.all(step.value.map(query)));
  return step.value;
}
