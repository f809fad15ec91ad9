/** The light half of the wiring: the database alone, which is all that reading needs. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isBelow } from "./contracts/write-roots.ts";
import type { BucketConfig } from "./control/config.ts";
import { createHome, type Environment, findPlaces } from "./control/places.ts";
import type { Clock } from "./ports/clock.ts";
import type { Log } from "./ports/log.ts";
import { MandateError } from "./ports/mandate-error.ts";
import type { ArtifactStore, Store } from "./ports/store.ts";
import type { MigratedStores, MigrationReport } from "./stores/migrate/migrate-store.ts";
import { homeOfUser, noteAgentFolder } from "./workspaces/processes/agent-folders.ts";

export interface StoreOptions {
  readonly environment?: Environment;
  /** A file, or ":memory:" for a database that ends with the process. Wins over every URL. */
  readonly database?: string;
  /** The address of a Postgres database; absent: as MANDATE_DATABASE_URL says, or the embedded one. */
  readonly url?: string | undefined;
  /** The tenant whose part of the database is used; absent: MANDATE_TENANT, or the default tenant. */
  readonly tenant?: string | undefined;
  /** Where large bodies go, with Postgres; absent: into the database. */
  readonly artifacts?: BucketConfig | undefined;
  readonly synchronous?: "full" | "normal";
  readonly clock?: Clock;
  /** How long to wait for a Postgres that does not answer yet; absent: not at all. */
  readonly waitForDatabaseMs?: number | undefined;
  readonly log?: Log | undefined;
}

/**
 * Loads neither engine, schemas nor models, so that looking at runs starts at once, and of the
 * databases only the one that is used.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const store = await openDatabase(options);
  if (options.database !== ":memory:") await noteKnownWorkspaces(store);
  return store;
}

/** The number of runs that could have left a program which is still on a PATH. */
const mostNotedRuns = 1000;

/**
 * Agents of earlier processes may have written in these folders: no program is started from them.
 * A folder that holds the home folder is left out, since all of a person's programs may be in it.
 */
async function noteKnownWorkspaces(store: Store): Promise<void> {
  // A damaged record is for `verify` to report. No work starts with one: consent is read again then.
  const consents = await store.listRecords("policy", "folder-consent:").catch(() => []);
  const runs = await store.listRuns({ limit: mostNotedRuns });
  const folders = [
    ...consents.map(({ value }) => (value as { readonly folder?: unknown } | null)?.folder),
    ...runs.map(({ workspace }) => workspace),
  ];
  for (const folder of new Set(folders)) {
    if (typeof folder === "string" && !holdsHome(folder)) noteAgentFolder(folder);
  }
}

function holdsHome(folder: string): boolean {
  const home = homeOfUser();
  return home !== undefined && isBelow(home, folder);
}

async function openDatabase(options: StoreOptions): Promise<Store> {
  const environment = options.environment ?? process.env;
  const clock = options.clock && { clock: options.clock };
  const url = databaseUrlOf(options, environment);
  const places = findPlaces(environment);
  // Working copies and tokens are in it, wherever the runs are.
  if (options.database === undefined) createHome(places);
  if (url !== undefined) {
    const { PostgresStore } = await import("./stores/postgres/postgres-store.ts");
    const tenant = options.tenant ?? (environment["MANDATE_TENANT"] || undefined);
    const artifacts = await openBucket(options, environment, tenant);
    return PostgresStore.open({
      url,
      ...(tenant !== undefined && { tenant }),
      ...(artifacts && { artifacts }),
      ...clock,
      waitMs: options.waitForDatabaseMs,
      log: options.log,
    });
  }
  if (options.artifacts !== undefined && options.database === undefined) {
    throw new MandateError(
      "config-invalid",
      "`database.artifacts` is for Postgres: set `database.url` or MANDATE_DATABASE_URL, or leave it out. The embedded database keeps large bodies in a folder beside it.",
    );
  }
  const memory = options.database === ":memory:";
  const { SqliteStore } = await import("./stores/sqlite/sqlite-store.ts");
  return new SqliteStore({
    path: options.database ?? places.database,
    synchronous: options.synchronous ?? "full",
    artifacts: memory ? null : places.artifacts,
    ...clock,
  });
}

/** Copies the embedded database, or the one in a file, to Postgres, or the other way. */
export async function migrateDatabase(
  target: "postgres" | "sqlite",
  options: Omit<MigratedStores, "artifacts" | "bucket" | "file"> & {
    readonly environment: Environment;
    /** Absent: the one of the environment's home. */
    readonly file: string | undefined;
    readonly artifacts?: BucketConfig | undefined;
  },
): Promise<MigrationReport> {
  const { migrateStore } = await import("./stores/migrate/migrate-store.ts");
  const places = findPlaces(options.environment);
  const { environment, file = places.database, tenant } = options;
  // Bodies lie beside their database.
  const isOwn = file === places.database;
  if (isOwn) createHome(places);
  const artifacts = isOwn ? places.artifacts : join(dirname(file), "artifacts");
  const bucket = await openBucket(options, environment, tenant);
  return migrateStore(target, { ...options, file, artifacts, bucket });
}

/** The database's address and schema version for display, without user name and password. */
export async function describeStore(
  options: StoreOptions,
): Promise<{ readonly path: string; readonly schema: number }> {
  const environment = options.environment ?? process.env;
  const url = databaseUrlOf(options, environment);
  if (url === undefined) {
    const { migrations } = await import("./stores/sqlite/migrations.ts");
    return {
      path: options.database ?? findPlaces(environment).database,
      schema: migrations.length,
    };
  }
  const { databaseAddressOf } = await import("./stores/postgres/database-place.ts");
  const { migrations } = await import("./stores/postgres/migrations.ts");
  return { path: databaseAddressOf(url).place, schema: migrations.length };
}

async function openBucket(
  { artifacts: config, clock }: Pick<StoreOptions, "artifacts" | "clock">,
  environment: Environment,
  tenant: string | undefined,
): Promise<ArtifactStore | undefined> {
  if (config === undefined) return undefined;
  const { S3Artifacts } = await import("./stores/s3/s3-artifacts.ts");
  // Each tenant's bodies are its own, as its rows are.
  const prefix = [config.prefix, tenant].filter((part) => part !== undefined).join("/");
  return S3Artifacts.open({ ...config, ...(prefix !== "" && { prefix }) }, environment, clock);
}

function databaseUrlOf(options: StoreOptions, environment: Environment): string | undefined {
  if (options.database !== undefined) return undefined;
  const url = options.url ?? environment["MANDATE_DATABASE_URL"];
  return url === "" ? undefined : url;
}

/**
 * Working copies lie beside the database that knows of them: two databases number their delegations
 * alike. What is in memory alone ends with the process, and so do its copies.
 */
export function placeForWork(
  database: string | undefined,
  home: string,
): { readonly folder: string; clear(): void } {
  if (database === undefined) return { folder: home, clear: () => undefined };
  if (database !== ":memory:") return { folder: `${database}-work`, clear: () => undefined };
  const folder = join(tmpdir(), `mandate-${process.pid}-${randomBytes(6).toString("hex")}`);
  return { folder, clear: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A database that lies elsewhere than in the home is as far out of reach as one in it. */
export function databaseFiles(database: string | undefined): readonly string[] {
  if (database === undefined || database === ":memory:") return [];
  return ["", "-wal", "-shm", "-journal", "-reserve"].map((suffix) => `${database}${suffix}`);
}

type HearDelta = (delegationId: string, text: string) => void;

/** Text that a model writes in this process reaches others, and theirs reaches this one. */
export function deltasOf(
  { liveText }: Store,
  hear: HearDelta | undefined,
): { readonly onDelta?: HearDelta } {
  if (liveText === undefined) return hear === undefined ? {} : { onDelta: hear };
  if (hear !== undefined) liveText.subscribe(hear);
  return {
    onDelta(delegationId, text) {
      hear?.(delegationId, text);
      liveText.publish(delegationId, text);
    },
  };
}
