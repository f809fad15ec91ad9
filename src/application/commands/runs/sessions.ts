import { shownName } from "../../../events/delegation.ts";
import { defineCommand } from "../command.ts";
import { parseNothing } from "../split-fields.ts";
import { amountsOf, titleLine } from "./describe-run.ts";

export const showSessions = defineCommand({
  name: "sessions",
  form: "",
  about: "Lists the last sessions, the latest first.",
  parse: parseNothing,
  async execute(_given, { steering }) {
    const rows = await steering.sessions();
    if (rows.length === 0) return { reply: "No sessions yet.", data: rows };
    const lines = rows.map((row) => {
      const { id, status, title, updatedAt } = row;
      const who = shownName(row) || "an agent";
      return `- ${id} ${who}, ${status}, ${moment(updatedAt)}, ${amountsOf(row)}: ${titleLine(title)}`;
    });
    return { reply: ["Sessions:", ...lines].join("\n"), data: rows };
  },
});

/** In universal time, so that a reply is the same wherever it is read. */
function moment(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
