import { type Role, roles } from "../../control/records/principal.ts";
import { quote } from "../../control/records/shown-text.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Arguments } from "./arguments.ts";
import type { CommandOption } from "./command.ts";

/** The options of commands that ask in somebody's name. */
export const roleOption: CommandOption = {
  type: "text",
  value: "ROLE",
  help: "act as viewer, operator or admin (operator)",
};

export const sessionOption: CommandOption = {
  type: "text",
  value: "ID",
  help: "the session that it is said in",
};

/** Whoever can open the database is its operator; for scripts that may do less, it can be less. */
export function roleOf(given: Arguments): Role {
  const text = given.text("role") ?? "operator";
  const role = roles.find((each) => each === text);
  if (role !== undefined) return role;
  throw new MandateError("usage", `--role takes ${roles.join(", ")}; it is ${quote(text)}.`);
}
