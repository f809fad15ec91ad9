import { migrateToPostgres } from "../../../open-store.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { countOf } from "../amounts.ts";
import { type Command, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { printableLine, printJson } from "../printable.ts";

export const migrateCommand: Command = {
  name: "migrate",
  usage: "[options]",
  about:
    "Copies the embedded database into an empty Postgres, in one transaction: every event unchanged,\n" +
    "and all other tables. Then verifies the copy. The embedded database is not changed; no process may\n" +
    "use it during the copy. Without --to the target is MANDATE_DATABASE_URL, which keeps the password out\n" +
    "of the process list.",
  options: {
    json: jsonOption,
    from: text("FILE", "the embedded database; by default the one in use"),
    to: text("URL", "postgres://USER:PASSWORD@HOST:PORT/DATABASE"),
    tenant: text("NAME", "the tenant in that database"),
  },
  examples: ["migrate --to postgres://mandate@db.example/mandate"],
  async run(given, io) {
    const { environment } = io;
    const url = given.text("to") ?? environment["MANDATE_DATABASE_URL"];
    if (url === undefined || url === "") {
      throw new MandateError("usage", "Say where to: --to postgres://…, or MANDATE_DATABASE_URL.");
    }
    const isShown = !given.flag("json");
    const report = await migrateToPostgres({
      environment,
      url,
      from: given.text("from"),
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
      const next = isSound
        ? "The copy is valid. Set MANDATE_DATABASE_URL to use it."
        : `The copy violates the invariants above; ${io.program} verify shows whether the original does too.`;
      io.stdout.write(`${about}. ${next}\n`);
    }
    return isSound ? exitCode.done : exitCode.failed;
  },
};
