import { requireRole } from "../../../control/records/principal.ts";
import { quote } from "../../../control/records/shown-text.ts";
import { defineCommand } from "../command.ts";
import { isAskId, splitFirstWord } from "../parse-id.ts";

export const answerAsk = defineCommand<{ readonly id: string; readonly text: string }>({
  name: "answer",
  form: "<id> <text>",
  about: "Answers a question of an agent. The first answer counts.",
  takesLines: true,
  completes: ["ask"],
  parse(rest) {
    const [id, text] = splitFirstWord(rest);
    if (!isAskId(id)) return { problem: `${quote(id)} is no question. /inbox open shows them.` };
    return text === "" ? { problem: "The answer is missing." } : { id, text };
  },
  async execute({ id, text }, { steering }, principal) {
    requireRole("answer-ask", principal);
    await steering.answer(id, text);
    return { reply: `Answered ${id}.`, data: { id, accepted: true } };
  },
});
