import { describe, expect, it } from "vitest";
import { judgeByRules } from "../../contracts/judge-by-rules.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { bypassLines, meantLines } from "./bypass-lines.test-support.ts";
import { subjectsOfArguments, subjectsOfCommand } from "./subjects-of-command.ts";

function allowing(...patterns: string[]): readonly ToolRule[] {
  return [
    { tool: "shell", match: "*", action: "deny" },
    ...patterns.map((match) => ({ tool: "shell", match, action: "allow" }) as const),
  ];
}

const onlyGit = allowing("git *");
const judge = (line: string, rules = onlyGit) =>
  judgeByRules([rules], "shell", subjectsOfCommand(line));
const judgeArguments = (argv: readonly string[], rules = onlyGit) =>
  judgeByRules([rules], "shell", subjectsOfArguments(argv));

describe("a rule that allows git alone", () => {
  it("lets none of a thousand lines through that run something else", () => {
    expect(new Set(bypassLines).size).toBeGreaterThan(1000);
    expect(bypassLines.filter((line) => judge(line) === "allow")).toEqual([]);
  });

  it("lets through what was meant", () => {
    expect(meantLines.filter((line) => judge(line) !== "allow")).toEqual([]);
  });

  it("holds for words without a shell as well", () => {
    expect(judgeArguments(["git", "commit", "-m", "a; rm x && `id`"])).toBe("allow");
    expect(judgeArguments(["git", "-c", "alias.x=!rm", "x"])).toBe("deny");
    expect(judgeArguments(["git status"])).toBe("deny");
    expect(judgeArguments(["./git", "status"])).toBe("deny");
    expect(judgeArguments(["env", "git", "status"])).toBe("deny");
    expect(judgeArguments(["sh", "-c", "git status"])).toBe("deny");
    expect(judgeArguments(["rm", "git status"])).toBe("deny");
  });
});

describe("rules for other programs", () => {
  const rules = allowing(
    ...["rg *", "find *", "fd *", "sed *", "sort *", "tar *", "awk *", "ls *", "cat *", "echo *"],
    ...["npm test", "npm run build *"],
  );

  it("let their harmless uses through", () => {
    const lines = [
      "rg -n 'foo bar' src | sort -u",
      "find . -name '*.ts' -type f",
      "sed -n 10,20p src/a.ts && sed 's/a b/c/g' x.txt",
      "awk -F: '{print $1}' /etc/passwd",
      "tar -tzf a.tgz; ls -la; cat a b 2>&1; echo 'done; really'",
      "npm test",
      "npm run build --if-present",
    ];
    expect(lines.filter((line) => judge(line, rules) !== "allow")).toEqual([]);
  });

  it("do not let them start anything else", () => {
    const lines = [
      ...["rg --pre ./evil x", "rg --pre=./evil x", "rg --hostname-bin=evil x", "rg -z x"],
      ...["find . -exec rm {} +", "find . -execdir rm +", "find . -delete", "find . -fprint x"],
      ...["fd x -x rm", "fd -X rm", "fd --exec rm", "fd --exec-batch=rm", "fd -tfx rm"],
      ...["sed -i 1d x", "sed '1e id' x", "sed 's/a/id/e' x", "sed 's/a/b/w x' y", "sed -f x y"],
      ...["sed 'w x' y", "sed --in-place 1d x", "sed -n '1p;e id' x", "sed -e '1e id' x", "sed"],
      ...["sort --compress-program=./evil x", "sort --comp ./evil x", "sort -o .bashrc x"],
      ...["sort -uo x y", "sort --outp=x y", "tar xf a --to-command=id", "tar -I ./evil -xf a"],
      ...["tar xIf ./evil a", "tar -xf a --checkpoint=1 --checkpoint-action=exec=id"],
      ...["tar --use-compress-prog=id -xf a", "tar -cf a -F id b", "awk 'BEGIN{system(\"id\")}'"],
      ...[
        "awk '{print | \"id\"}' x",
        "awk '{print > \"x\"}' y",
        "awk -f x",
        "awk '\"id\" | getline'",
      ],
      ...[
        "echo x > y",
        "cat x >> y",
        "cat $(id)",
        "ls `id`",
        "echo *",
        "cat ~/.ssh/id",
        "ls {a,b}",
      ],
      ...["npm test; id", "npm tests", "npm 'test x'", "npm run build; id", "npm run 'build x'"],
    ];
    expect(lines.filter((line) => judge(line, rules) === "allow")).toEqual([]);
  });

  it("forbid a program also by its path and inside a longer line", () => {
    const denied: readonly ToolRule[] = [{ tool: "shell", match: "rm *", action: "deny" }];
    const lines = [
      ...["rm x", "/bin/rm x", "git status && rm x", "r'm' x", '"rm" x', "rm\tx", "ls | rm x"],
      ...["sh -c 'rm x'", "env rm x", "$(echo rm) x", "r\\m x", "find . -exec rm x +", "(rm x)"],
    ];
    expect(lines.filter((line) => judge(line, denied) !== "deny")).toEqual([]);
    expect(judge("git status && ls -la", denied)).toBe("allow");
  });
});
