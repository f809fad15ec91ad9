import { type Span, spanOf } from "./spans.ts";

/**
 * Colours code by what most languages share: comments, strings, numbers, keywords. Each expression
 * consumes what it has looked at, so the time is linear in the code, whatever is in it.
 */
export function highlightCode(code: string, language: string): readonly (readonly Span[])[] {
  const name = language.toLowerCase();
  const lines = code.split("\n");
  if (name === "diff" || name === "patch") return lines.map((line) => [diffLine(line)]);
  const family = families.find(({ names }) => names.includes(name));
  if (family === undefined) return lines.map((line) => [spanOf(line)]);
  const found: Span[][] = [[]];
  const add = (text: string, tones?: Span["tones"]) => {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) found.push([]);
      if (part !== "") found.at(-1)?.push(spanOf(part, tones));
    }
  };
  let end = 0;
  for (const { 0: text, index, groups = {} } of code.matchAll(family.parts)) {
    const kind = Object.keys(groups).find((each) => groups[each] !== undefined);
    if (kind === "word" && !isKeyword(text, name)) continue;
    add(code.slice(end, index));
    add(text, tones[kind ?? ""]);
    end = index + text.length;
  }
  add(code.slice(end));
  return found;
}

function isKeyword(word: string, language: string): boolean {
  return language === "sql" ? sqlKeywords.has(word.toLowerCase()) : keywords.has(word);
}

const tones: Readonly<Record<string, Span["tones"]>> = {
  comment: ["dim"],
  string: ["good"],
  number: ["warn"],
  word: ["accent"],
  key: ["accent"],
};

function diffLine(line: string): Span {
  if (/^(?:\+\+\+|---|diff |index )/.test(line)) return spanOf(line, ["strong"]);
  if (line.startsWith("@@")) return spanOf(line, ["accent"]);
  if (line.startsWith("+")) return spanOf(line, ["good"]);
  return spanOf(line, line.startsWith("-") ? ["bad"] : []);
}

const quoted = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
const number = String.raw`(?<number>\b\d[\w.]*)`;
const word = String.raw`(?<word>[A-Za-z_$][\w$]*)`;

function partsOf(comment: string, string: string, ...more: readonly string[]): RegExp {
  return new RegExp(
    [`(?<comment>${comment})`, `(?<string>${string})`, ...more, number, word].join("|"),
    "gm",
  );
}

const slashes = String.raw`\/\/.*|\/\*[^]*?(?:\*\/|$(?![^]))`;
const template = String.raw`\x60(?:[^\x60\\]|\\[^])*\x60?`;
const tripled = `"""[^]*?(?:"""|$(?![^]))|'''[^]*?(?:'''|$(?![^]))`;

/** Languages that write comments and strings alike. */
const families: readonly { readonly names: readonly string[]; readonly parts: RegExp }[] = [
  {
    names: [
      ...["js", "javascript", "jsx", "mjs", "cjs", "ts", "typescript", "tsx", "mts", "cts"],
      ...[
        "java",
        "c",
        "h",
        "cpp",
        "c++",
        "cc",
        "hpp",
        "cs",
        "csharp",
        "go",
        "golang",
        "rust",
        "rs",
      ],
      ...["swift", "kotlin", "kt", "php", "scala", "dart", "groovy", "zig", "proto", "css", "scss"],
    ],
    parts: partsOf(slashes, `${template}|${quoted}`),
  },
  {
    names: [
      ...["py", "python", "rb", "ruby", "sh", "bash", "zsh", "shell", "console", "fish", "perl"],
      ...["r", "julia", "elixir", "dockerfile", "makefile", "make", "nix", "powershell", "ps1"],
    ],
    parts: partsOf(String.raw`(?<![^\s;])#.*`, `${tripled}|${quoted}`),
  },
  {
    names: ["yaml", "yml", "toml", "ini", "env", "properties", "hcl", "terraform"],
    parts: partsOf(
      String.raw`(?<![^\s])[#;].*`,
      `${tripled}|${quoted}`,
      String.raw`(?<key>^[ \t]*(?:- )?[\w.-]+(?=[ \t]*[:=])|^\[.*)`,
    ),
  },
  {
    names: ["json", "jsonc", "json5", "jsonl"],
    parts: partsOf(slashes, quoted),
  },
  {
    names: ["sql", "lua", "haskell", "hs", "ada", "elm"],
    parts: partsOf(String.raw`--.*|\/\*[^]*?(?:\*\/|$(?![^]))`, quoted),
  },
];

const keywords: ReadonlySet<string> = new Set(
  (
    "abstract and as assert async await bool boolean break case catch char class const continue def " +
    "default defer del delete do done double elif else elsif end enum esac except export extends extern " +
    "false False fi final finally float fn for foreach from func function go goto if impl implements " +
    "import in include instanceof int interface is lambda let local long loop match mod module mut " +
    "namespace new nil None not null nullptr of or override package pass private protected pub public " +
    "raise readonly require return self Self short signed sizeof static struct super switch then this " +
    "throw throws trait true True try type typedef typeof undefined union unless unsafe unsigned use " +
    "using var virtual void volatile when where while with yield"
  ).split(" "),
);

const sqlKeywords: ReadonlySet<string> = new Set(
  (
    "add all alter and as asc begin between by case commit create delete desc distinct drop else end " +
    "exists from full group having if in index inner insert into is join key left like limit not null " +
    "on or order outer primary references returning right select set table then union unique update " +
    "values view when where with"
  ).split(" "),
);
