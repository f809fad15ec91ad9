import type { Pool } from "pg";
import type { QueuedWork } from "./dbos-dispatcher.ts";
import { GroupLine } from "./group-line.ts";
import { applicationName, applicationVersion, engineSchema } from "./load-dbos.ts";

export interface Enqueued {
  readonly workflowName: string;
  readonly workflowId: string;
  readonly queueName: string;
  readonly priority: number;
  readonly partitionKey: string | null;
  readonly delaySeconds: number | null;
  readonly work: QueuedWork;
}

/** So many rows are written in one statement, at most. */
const mostAtOnce = 500;

/**
 * By the function that the engine has in the database for those who enqueue without its library.
 * What is there already stays as it is: to send it twice is to send it once.
 */
const enqueueAll = {
  name: "enqueue",
  text: `SELECT "${engineSchema}".enqueue_workflow(
    workflow_name => v.name, queue_name => v.queue, positional_args => ARRAY[v.work], workflow_id => v.id,
    app_version => '${applicationVersion}', priority => v.priority, queue_partition_key => v.partition,
    delay_until_epoch_ms => (EXTRACT(epoch FROM pg_catalog.now()) * 1000)::bigint + v.delay_ms,
    application_name => '${applicationName}')
  FROM unnest($1::text[], $2::text[], $3::json[], $4::text[], $5::integer[], $6::text[], $7::bigint[])
    AS v(name, queue, work, id, priority, partition, delay_ms)`,
};

/** Puts work into queues. Each is there when its promise resolves. */
export class EnqueueLine {
  readonly #pool: Pool;
  readonly #line = new GroupLine<Enqueued>(mostAtOnce, (together) =>
    this.#pool.query({ ...enqueueAll, values: valuesOf(together) }),
  );

  constructor(pool: Pool) {
    this.#pool = pool;
    // A connection that breaks while nobody uses it is replaced by the next one.
    pool.on("error", () => undefined);
  }

  add(enqueued: Enqueued): Promise<void> {
    return this.#line.add(enqueued);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function valuesOf(together: readonly Enqueued[]): unknown[] {
  return [
    together.map(({ workflowName }) => workflowName),
    together.map(({ queueName }) => queueName),
    together.map(({ work }) => JSON.stringify(work)),
    together.map(({ workflowId }) => workflowId),
    together.map(({ priority }) => priority),
    together.map(({ partitionKey }) => partitionKey),
    together.map(({ delaySeconds }) => (delaySeconds === null ? null : delaySeconds * 1000)),
  ];
}
