import { resolve } from "node:path";
import { pruneHome } from "../../../application/retention.ts";
import { loadConfig } from "../../../control/load-config.ts";
import { findPlaces } from "../../../control/places.ts";
import { openQueues } from "../../../open-queues.ts";
import { migrateDatabase } from "../../../open-store.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { PruneReport } from "../../../ports/store.ts";
import { headOf } from "../../../text.ts";
import { countOf } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { withStore } from "../with-store.ts";

export const migrateCommand: Command = {
  name: "migrate",
  usage: "[options]",
  about:
    "Copies the embedded database into an empty Postgres, or back into an empty file, in one\n" +
    "transaction: every event unchanged, and all other tables. Then verifies the copy. The source is\n" +
    "not changed; no process may use it during the copy. The Postgres that is not named is\n" +
    "MANDATE_DATABASE_URL, which keeps the password out of the process list. `--to FILE` copies from\n" +
    "Postgres.",
  options: {
    json: jsonOption,
    from: text("FILE|URL", "the source; by default the embedded database in use"),
    to: text("FILE|URL", "the target: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or a file"),
    tenant: text("NAME", "the tenant in Postgres"),
  },
  examples: [
    "migrate --to postgres://mandate@db.example/mandate",
    "migrate --from postgres://mandate@db.example/mandate --to back/mandate.db",
  ],
  async run(given, io) {
    const { environment } = io;
    const [target, file, url] = directionOf(given, environment["MANDATE_DATABASE_URL"]);
    const isShown = !given.flag("json");
    const { own } = await loadConfig({ cwd: io.cwd, environment });
    const report = await migrateDatabase(target, {
      environment,
      url,
      file: file === undefined ? undefined : resolve(io.cwd, file),
      artifacts: own.database.artifacts,
      tenant: given.text("tenant") ?? (environment["MANDATE_TENANT"] || undefined),
      onProgress(table, copied, of) {
        if (isShown) io.stderr.write(`${table}: ${copied} of ${of}\n`);
      },
    });
    const isSound = report.violations.length === 0;
    if (!isShown) printJson(io, { ok: isSound, ...report });
    else {
      for (const violation of report.violations) io.stdout.write(`${printableLine(violation)}\n`);
      const rows = Object.values(report.copied).reduce((sum, count) => sum + count, 0);
      const about = `${countOf(report.events, "event")} copied, in ${countOf(rows, "row")}`;
      const use = target === "postgres" ? "Set" : "Unset";
      const next = isSound
        ? `The copy is valid. ${use} MANDATE_DATABASE_URL to use it.`
        : `The copy violates the invariants above; ${io.program} verify shows whether the original does too.`;
      io.stdout.write(`${about}. ${next}\n`);
    }
    return isSound ? exitCode.done : exitCode.failed;
  },
};

/** The target, the file (absent: the one of the home) and the URL. */
function directionOf(
  given: Arguments,
  usualUrl = "",
): readonly [target: "postgres" | "sqlite", file: string | undefined, url: string] {
  const [from, to] = [given.text("from"), given.text("to")];
  const target = isUrl(from) || (to !== undefined && !isUrl(to)) ? "sqlite" : "postgres";
  const [file, url = usualUrl] = target === "sqlite" ? [to, from] : [from, to];
  if (isUrl(file) || (url !== usualUrl && !isUrl(url))) {
    const advice = "One of --from and --to is a file, the other is postgres://….";
    const other = isUrl(file) ? "pg_dump copies Postgres to Postgres." : "cp copies a home.";
    throw new MandateError("usage", `${advice} ${other}`);
  }
  if (url !== "") return [target, file, url];
  throw new MandateError(
    "usage",
    target === "postgres"
      ? "Say where to: --to postgres://…, or MANDATE_DATABASE_URL."
      : "Say where from: --from postgres://…, or MANDATE_DATABASE_URL.",
  );
}

/** Whether a place is an address of any scheme: opening another scheme says what an address has to be. */
function isUrl(place: string | undefined): boolean {
  return place?.includes("://") ?? false;
}

const hourMs = 60 * 60 * 1000;
const unitMs: Readonly<Record<string, number>> = {
  ...{ m: hourMs / 60, min: hourMs / 60, h: hourMs, d: 24 * hourMs, w: 168 * hourMs },
};

export const pruneCommand: Command = {
  name: "prune",
  usage: "--older-than TIME [options]",
  about:
    "Removes runs that ended longer ago than TIME: their events, contracts, questions, inbox items,\n" +
    "and the texts and artifacts that nothing else refers to. A receipt of each stays in the control\n" +
    "log, so that `mandate verify` can tell a pruned run from a deleted one. Memories and costs stay.\n" +
    "Open runs, runs that an open run continues, and runs with changes that were not merged are kept.\n" +
    "Without --older-than, `retention.days` of the configuration applies.",
  options: {
    "older-than": text("TIME", "such as 90d, 12w, 36h or 30m"),
    "keep-failed": flag("only runs that succeeded"),
    "dry-run": flag("say what would be removed, and remove nothing"),
    json: jsonOption,
  },
  examples: ["prune --older-than 90d --dry-run", "prune --older-than 12w --keep-failed"],
  run: prune,
};

async function prune(given: Arguments, io: Io): Promise<number> {
  const { own } = await loadConfig({ cwd: io.cwd, environment: io.environment });
  const { retention } = own;
  const ageMs = ageOf(given.text("older-than"), retention.days);
  const dryRun = given.flag("dry-run");
  const { home } = findPlaces(io.environment);
  const report = await withStore(io, (store) =>
    pruneHome(
      { store, home },
      {
        finishedBefore: io.now() - ageMs,
        actor: "local",
        most: Number.MAX_SAFE_INTEGER,
        keepFailed: given.flag("keep-failed") || retention.keepFailed,
        dryRun,
      },
    ),
  );
  const queued = dryRun ? 0 : await pruneQueues(own, io.now() - ageMs);
  if (given.flag("json")) printJson(io, { dryRun, ...report, queued });
  else for (const line of describe(report, dryRun, io)) io.stdout.write(`${line}\n`);
  return report.damaged.length === 0 ? exitCode.done : exitCode.failed;
}

/** What earlier versions left in the queues' tables of work that has ended. */
async function pruneQueues(config: Parameters<typeof openQueues>[0], before: number) {
  const queues = await openQueues(config);
  try {
    return (await queues?.rows.removeEnded(before, Number.MAX_SAFE_INTEGER)) ?? 0;
  } finally {
    await queues?.close();
  }
}

function ageOf(text: string | undefined, days: number | undefined): number {
  if (text === undefined && days !== undefined) return days * 24 * hourMs;
  const [, number = "", unit = ""] = /^(\d{1,6})(min|[mhdw])$/.exec(text ?? "") ?? [];
  const ms = Number(number) * (unitMs[unit] ?? 0);
  if (text !== undefined && number !== "" && ms > 0) return ms;
  throw new MandateError(
    "usage",
    text === undefined
      ? "Say how old a run must be: --older-than 90d, or `retention.days` in the configuration."
      : `--older-than takes a time such as 90d, 12w, 36h or 30m; it is "${headOf(text, 40)}".`,
  );
}

function describe(report: PruneReport, dryRun: boolean, io: Io): readonly string[] {
  const { artifacts, damaged, kept, runs } = report;
  const events = runs.reduce((sum, run) => sum + run.events, 0);
  const about = `${countOf(runs.length, "run")} with ${countOf(events, "event")}`;
  const lines = [
    dryRun ? `Would prune ${about}.` : `Pruned ${about}, and ${countOf(artifacts, "artifact")}.`,
  ];
  if (kept.length > 0) {
    lines.push(
      `${countOf(kept.length, "run")} of that age kept: an open run continues them, or they left changes (${io.program} diff ${kept[0]}).`,
    );
  }
  if (damaged.length > 0) {
    lines.push(
      `Not pruned, because their logs are damaged (${io.program} verify): ${damaged.join(", ")}`,
    );
  }
  return lines;
}
