/**
 * An agent that asks, and never waits for ever: a question is in the inbox with its deadline, the
 * first answer counts, and when nobody answers in time a default does, if one was set. An approval is
 * another matter: only a person's yes lets a call pass, and no default ever gives one.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMandate, type Mandate } from "mandate";
import { type ScriptedReply, scriptedModel } from "mandate/testing";

const root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-example-")));
const project = join(root, "project");
mkdirSync(project);
// A default is for whoever runs Mandate to set: a project's own mandate.yaml may not.
mkdirSync(join(root, "config/mandate"), { recursive: true });
writeFileSync(join(root, "config/mandate/config.yaml"), 'ask: { default: "in English" }\n');

/** The clerk asks in which language, writes a letter if it may, and reports what it was told. */
function clerk(turn: number, last: string): ScriptedReply {
  if (turn === 1)
    return { calls: [{ tool: "ask_user", input: { message: "In which language?" } }] };
  if (turn > 2) return { text: last };
  const input = { path: "letter.txt", content: `A letter ${last}\n` };
  return { calls: [{ tool: "write_file", input }] };
}

async function open(deadline: number): Promise<Mandate> {
  return createMandate({
    cwd: project,
    environment: { HOME: root, XDG_CONFIG_HOME: join(root, "config") },
    database: ":memory:",
    flags: { askDeadlineMs: deadline },
    profiles: [
      {
        name: "clerk",
        description: "Writes letters",
        capabilities: ["primary"],
        prompt: "You write letters.",
        tools: ["ask_user", "write_file"],
        toolRules: [{ tool: "write_file", action: "ask" }],
        origin: "example",
      },
    ],
    scripted: scriptedModel(({ caller, messages }) =>
      clerk(caller.turn, messages.at(-1)?.text ?? ""),
    ),
  });
}

const letter = { profile: "clerk", task: "Write to the harbour.", workspace: project };

// Somebody is there: both questions are answered as they come.
const attended = await open(60_000);
attended.inbox.on((item) => {
  if (item.ask === undefined || item.isOpen !== true) return;
  const text = item.kind === "approval" ? "yes" : "in Norwegian";
  console.log(`${item.kind}: ${item.text} → ${text}`);
  void attended.inbox.answer(item.ask.id, text);
});
const first = await attended.delegate(letter);
console.log("with somebody there:", first.result);
const late = (await attended.inbox.read()).find(({ kind }) => kind === "ask");
const tooLate = await attended.inbox.tryAnswer(late?.ask?.id ?? "", "in Latin");
console.log("a second answer:", tooLate.accepted ? "counted" : tooLate.reason);

// Nobody is there: the default answers the question, and nothing answers the approval.
const alone = await open(40);
const answered: string[] = [];
const refused: string[] = [];
alone.on("agent.answered", ({ payload }) => answered.push(payload.by));
alone.on("agent.tool_denied", ({ payload }) => refused.push(payload.rule));
const second = await alone.delegate(letter);
console.log("with nobody there:", answered.join(", "), "·", second.result);

const reports = [await attended.verify(), await alone.verify()];
await attended.close();
await alone.close();
rmSync(root, { recursive: true, force: true });
const isRight =
  first.evidence.files?.length === 1 &&
  !tooLate.accepted &&
  answered.join() === "default,expired" &&
  refused.join() === "not_approved" &&
  second.evidence.files === undefined &&
  reports.every(({ ok }) => ok);
if (!isRight) process.exitCode = 1;
