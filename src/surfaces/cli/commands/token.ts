import {
  AccessTokens,
  installationToken,
  rotateInstallationToken,
} from "../../../control/access/access-tokens.ts";
import { findPlaces } from "../../../control/places.ts";
import { type Principal, type Role, roles } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { formatAge } from "../amounts.ts";
import { type Arguments, type Command, chosenFrom, flag, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine, printJson } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

const day = 86_400_000;

/** A person who can open the database and read the home owns the installation. */
const owner: Principal = { id: "local", role: "admin" };

export const tokenCommand: Command = {
  name: "token",
  usage: "[options] [list | create NAME | revoke NAME | show | rotate]",
  about:
    "Manages who may use `mandate serve`. The installation has its own token, which may do everything:\n" +
    "show prints it, rotate replaces it. create makes a named token with a role (viewer reads, operator\n" +
    "also starts and steers work, admin also manages tokens) and, with --scope, with only these scopes\n" +
    "for every contract of its runs. Viewers and admins see every run; an operator sees the runs that it\n" +
    "started, or every run with --all-runs. A named token is printed once and stored as a hash; revoke\n" +
    "ends it at once.",
  options: {
    json: jsonOption,
    role: text("ROLE", "viewer, operator or admin (viewer)"),
    scope: text("SCOPE", "a scope that its contracts may have; repeatable (all)"),
    "all-runs": flag("an operator sees every run, not only its own"),
    days: text("NUMBER", "days until it expires (default: never)"),
  },
  words: { least: 0, most: 2 },
  examples: ["token create dashboard --role viewer", "token list", "token revoke dashboard"],
  run: async (given, io) => {
    const [word, name] = given.words;
    await chosenFrom(
      "token",
      words,
      word,
    )({ given, io, name, file: findPlaces(io.environment).tokens });
    return exitCode.done;
  },
};

interface Asked {
  readonly given: Arguments;
  readonly io: Io;
  readonly name: string | undefined;
  readonly file: string;
}

const words: Readonly<Record<string, (asked: Asked) => Promise<void> | void>> = {
  list,
  create,
  revoke,
  show: (asked) => printToken(asked, installationToken(asked.file)),
  rotate: (asked) => printToken(asked, rotateInstallationToken(asked.file)),
};

function list({ given, io, file }: Asked): Promise<void> {
  return withStore(io, async (store) => {
    const tokens = await new AccessTokens(store, file).list();
    if (given.flag("json")) return void printJson(io, tokens);
    if (tokens.length === 0) {
      io.stderr.write(
        `There are no named tokens. ${io.program} token show prints the installation's own.\n`,
      );
    }
    const { paint } = styleFor(io.stdout, io);
    for (const { allRuns, name, role, scopes, createdAt, expiresAt } of tokens) {
      const facts = [
        paint.strong(printableLine(name)),
        role,
        allRuns ? "sees all runs" : "sees its own runs",
        ...(scopes === "*" ? [] : [`scopes: ${printableLine(scopes.join(", ") || "none")}`]),
        `made ${formatAge(io.now() - createdAt)}`,
        ...(expiresAt === null ? [] : [expiry(expiresAt, io.now())]),
      ];
      io.stdout.write(`${facts.join("  ")}\n`);
    }
  });
}

function expiry(at: number, now: number): string {
  const date = new Date(at).toISOString().slice(0, 10);
  return at <= now ? `expired on ${date}` : `expires on ${date}`;
}

function create(asked: Asked): Promise<void> {
  const { given, io, file } = asked;
  const name = requireName(asked);
  const days = given.count("days");
  const scopes = given.texts("scope");
  return withStore(io, async (store) => {
    const { token, about } = await new AccessTokens(store, file).create(
      {
        name,
        role: (given.text("role") ?? roles[0]) as Role,
        scopes: scopes.length === 0 ? "*" : scopes,
        allRuns: given.flag("all-runs"),
        expiresAt: days === undefined ? null : io.now() + days * day,
      },
      owner,
    );
    if (given.flag("json")) {
      return void printJson(io, { token, ...about });
    }
    const sees = about.allRuns ? "sees all runs" : "sees its own runs";
    io.stderr.write(`The token of ${name} (${about.role}, ${sees}). It is shown this once:\n`);
    io.stdout.write(`${token}\n`);
  });
}

function revoke(asked: Asked): Promise<void> {
  const { given, io, file } = asked;
  const name = requireName(asked);
  return withStore(io, async (store) => {
    const revoked = await new AccessTokens(store, file).revoke(name, owner);
    if (!revoked)
      throw new MandateError("usage", `There is no token called ${JSON.stringify(name)}.`);
    if (given.flag("json")) return void printJson(io, { revoked: name });
    io.stdout.write(`Revoked ${printableLine(name)}.\n`);
  });
}

function printToken({ given, io }: Asked, token: string): void {
  io.stdout.write(given.flag("json") ? `${printableJson({ token }, 2)}\n` : `${token}\n`);
}

function requireName({ given, name }: Asked): string {
  if (name !== undefined) return name;
  throw new MandateError("usage", `token ${given.words[0]} takes a name.`);
}
