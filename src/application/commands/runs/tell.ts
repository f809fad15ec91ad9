import { requireRole } from "../../../control/records/principal.ts";
import { defineCommand } from "../command.ts";
import { parseId, splitFirstWord } from "../parse-id.ts";

export const tellAgent = defineCommand<{ readonly id: string; readonly text: string }>({
  name: "tell",
  form: "<id> <text>",
  about: "Sends a message to an agent that works; it reads the message before its next turn.",
  takesLines: true,
  completes: ["open"],
  parse(rest) {
    const [word, text] = splitFirstWord(rest);
    const parsed = parseId(word);
    if ("problem" in parsed) return parsed;
    return text === "" ? { problem: "The message is missing." } : { id: parsed.id, text };
  },
  async execute({ id, text }, { steering }, principal) {
    requireRole("send-message", principal);
    const sent = await steering.tell(id, text);
    return { reply: `Sent to ${sent.delegationId}: it reads it before its next turn.`, data: sent };
  },
});
