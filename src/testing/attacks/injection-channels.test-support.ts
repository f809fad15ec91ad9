import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ScriptedCall } from "../../models/scripted/playbook.ts";
import { makeDocx, makePdf, paragraph } from "../../tools/documents/make-documents.test-support.ts";

/** One case, before it runs: where it takes place, and the words that are to be planted. */
export interface Planting {
  readonly key: string;
  readonly workspace: string;
  readonly text: string;
  readonly page: string;
}

export interface Channel {
  readonly name: string;
  /** What comes through it counts as the operator's own word: it taints nobody. */
  readonly isTrusted?: true;
  /** Others are had by a process of their own, and are tried less often. */
  readonly isDear?: true;
  /** A profile for this case alone. */
  readonly ownProfile?: true;
  /** Plants the words, and says which calls read them. */
  plant(planting: Planting): readonly ScriptedCall[];
}

const read = (path: string): ScriptedCall => ({ tool: "read_file", input: { path } });

/** Every way by which somebody else's words reach a model. */
export const channels: readonly Channel[] = [
  {
    name: "a file's content",
    plant({ text, workspace }) {
      writeFileSync(join(workspace, "brief.md"), `# Brief\n\n${text}\n`);
      return [read("brief.md")];
    },
  },
  {
    name: "a file's name",
    plant({ text, workspace }) {
      const [orders = ""] = /OBEY [\da-f]+ YEBO/.exec(text) ?? [];
      // A name holds 255 bytes: longer orders go over several folders.
      const parts = orders.match(/.{1,200}/g) ?? [];
      mkdirSync(join(workspace, "inbox", ...parts.slice(0, -1)), { recursive: true });
      writeFileSync(join(workspace, "inbox", ...parts), "");
      return [{ tool: "list_files", input: { path: "inbox", recursive: true } }];
    },
  },
  {
    name: "a web page",
    plant: ({ key, page }) => [{ tool: "web_fetch", input: { url: `${page}/${key}` } }],
  },
  {
    name: "a tool's output",
    plant: ({ key }) => [{ tool: "lookup", input: { key } }],
  },
  {
    name: "an MCP tool's result",
    plant: ({ key }) => [{ tool: "mcp__notes__note", input: { key } }],
  },
  { name: "an MCP tool's description", ownProfile: true, plant: () => [] },
  {
    name: "a child's result",
    plant({ key, text, workspace }) {
      writeFileSync(join(workspace, "brief.md"), text);
      return [{ tool: "delegate_task", input: { profile: "liar", task: key } }];
    },
  },
  {
    name: "a commit message",
    isDear: true,
    plant({ text, workspace }) {
      const git = (...args: string[]) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], {
          cwd: workspace,
          stdio: "ignore",
        });
      git("init", "--quiet");
      git("commit", "--quiet", "--allow-empty", "--no-gpg-sign", "-m", text);
      return [read(".git/COMMIT_EDITMSG"), read(".git/logs/HEAD")];
    },
  },
  { name: "a profile's text", isTrusted: true, ownProfile: true, plant: () => [] },
  {
    name: "a skill's text",
    isTrusted: true,
    plant: ({ key }) => [{ tool: "load_skill", input: { name: key } }],
  },
  {
    name: "a memory",
    plant: ({ key }) => [{ tool: "memory_load", input: { tags: [key] } }],
  },
  {
    name: "a PDF",
    isDear: true,
    plant({ text, workspace }) {
      const lines = text.split(/(?=OBEY|YEBO)/).flatMap((part) => part.match(/.{1,80}/g) ?? []);
      writeFileSync(join(workspace, "brief.pdf"), makePdf([lines]));
      return [{ tool: "document_query", input: { path: "brief.pdf" } }];
    },
  },
  {
    name: "a Word document",
    isDear: true,
    plant({ text, workspace }) {
      const body = paragraph(text.replaceAll(/[<>&"]/g, " "));
      writeFileSync(join(workspace, "brief.docx"), makeDocx(body));
      return [{ tool: "document_query", input: { path: "brief.docx" } }];
    },
  },
  {
    name: "a person's answer",
    isTrusted: true,
    plant: ({ key }) => [{ tool: "ask_user", input: { message: `What now? ${key}` } }],
  },
];
