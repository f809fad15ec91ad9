/** The addresses of a text, each as it is fetched: `href` without its fragment. */
export function addressesIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { index } of text.matchAll(/https?:\/\//gi)) {
    for (const spelling of spellingsAt(text, index)) {
      const url = readAddress(spelling);
      if (url !== undefined) found.add(url.href);
    }
  }
  return found;
}

/**
 * The origins that a person named: of whole addresses, and of bare host names. A file's name can look
 * like a host's, so bare names count under a few well-known endings only.
 */
export function originsIn(text: string): readonly string[] {
  const origins = [...addressesIn(text)].map((href) => new URL(href).origin);
  const named = [...text.matchAll(bareHost)].map(([host]) => `https://${host.toLowerCase()}`);
  return [...new Set([...origins, ...named])];
}

const bareHost =
  /(?<![\w@./:-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:com|org|net|edu|gov|io|dev)(?![\w-]|\.\w)/gi;

/** Longer ones are not fetched. */
const longest = 4096;

/** An address as it stands, and without the signs at its end that may belong to the sentence. */
function* spellingsAt(text: string, start: number): Generator<string> {
  const [run = ""] = /^[^\s<>"`\\^{}|]+/.exec(text.slice(start, start + longest)) ?? [];
  const [written = ""] = run.split("](", 1);
  for (let end = written.length; end > 0; end--) {
    yield written.slice(0, end);
    if (!/[.,;:!?'*_~()[\]]/.test(written.charAt(end - 1))) return;
  }
}

function readAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return undefined;
  url.hash = "";
  url.hostname = url.hostname.replace(/\.$/, "");
  return url;
}
