/** What agents of ours can have by these names; names of other programs are mapped onto them. */
export const builtInTools = [
  "read_file",
  "write_file",
  "edit_file",
  "list_files",
  "glob",
  "grep",
  "shell",
  "web_fetch",
  "web_search",
  "delegate_task",
  "load_skill",
] as const;

export type BuiltInTool = (typeof builtInTools)[number];

/** Tools that can change files. A shell can, whatever it was meant for. */
export const writingTools: readonly BuiltInTool[] = ["write_file", "edit_file", "shell"];

/**
 * Everything that makes children. Other programs have one tool for it: what they deny, ask about or
 * limit is the right to have children, whichever of these it would be used by.
 */
export const delegatingTools: readonly string[] = [
  ...["delegate_task", "delegate_to_agent", "spawn", "spawn_await", "spawn_subagent"],
];

/** Spellings without case, `_` and `-`. The first of each line is the one that names a tool plainly. */
const spellings: Readonly<Record<BuiltInTool, string>> = {
  read_file: "read readfile fsread view readmanyfiles notebookread readnotebook read/readfile",
  write_file: "write writefile fswrite create createfile writetofile edit/createfile",
  edit_file:
    "edit editfile editfiles edit/editfiles replace patch multiedit applypatch applydiff strreplace notebookedit editnotebook edit/editnotebook",
  list_files: "list ls listfiles listdirectory listdir search/listdirectory",
  glob: "glob find filesearch findfiles search/filesearch",
  grep: "grep grepsearch search codebase search/codebase textsearch search/textsearch searchfilecontent searchfiles ripgrep",
  shell:
    "bash shell runshellcommand runcommands runcommand execute executebash executecommand terminal terminalcommand runinterminal runcommands/runinterminal execute/runinterminal powershell",
  web_fetch: "webfetch fetch web/fetch fetchwebpage",
  web_search: "websearch googlewebsearch searchweb web/search web/websearch",
  delegate_task:
    "task agent delegatetask invokeagent runsubagent agent/runsubagent subagent usesubagent",
  load_skill: "skill loadskill",
};

const toolBySpelling = new Map<string, readonly string[]>([
  ...builtInTools.flatMap((tool) =>
    spellings[tool].split(" ").map((spelling) => [spelling, [tool]] as const),
  ),
  ...delegatingTools.map((tool) => [squash(tool), [tool]] as const),
  ["web", ["web_fetch", "web_search"]],
]);

const plainSpellings: ReadonlySet<string> = new Set([
  ...builtInTools.map((tool) => spellings[tool].split(" ")[0] ?? ""),
  "ls",
]);

/** The tools of ours that a name stands for, or undefined where it is not known. */
export function canonicalTools(name: string): readonly string[] | undefined {
  return toolBySpelling.get(squash(name));
}

/** Whether the name says the tool itself and not a second way to use it (`edit`, not `patch`). */
export function isPlainSpelling(name: string): boolean {
  return plainSpellings.has(squash(name));
}

export function knownSpellings(): Iterable<string> {
  return toolBySpelling.keys();
}

function squash(name: string): string {
  return name.toLowerCase().replaceAll(/[_\s-]/g, "");
}
