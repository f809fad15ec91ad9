export interface MediaType {
  /** Lower case, without parameters; empty when the sender named none that is one. */
  readonly name: string;
  readonly charset: string | undefined;
}

export function mediaTypeOf(header: string | undefined): MediaType {
  const name = /^\s*([\w.+-]{1,80}\/[\w.+-]{1,80})\s*(?:;|$)/.exec(header ?? "")?.[1] ?? "";
  const charset = /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(header ?? "")?.[1];
  return { name: name.toLowerCase(), charset };
}

/** Of pictures, sounds and fonts there is nothing to read, so their bytes are not taken. */
export function isShownType({ name }: MediaType): boolean {
  return !/^(?:image\/(?!svg)|audio\/|video\/|font\/)/.test(name);
}

export function isHtmlType({ name }: MediaType): boolean {
  return name === "text/html" || name === "application/xhtml+xml";
}

/** Named as something to read; what is not named is judged by its bytes. */
export function isTextType({ name }: MediaType): boolean {
  if (name.startsWith("text/") || /[+/](?:json|xml|yaml)$/.test(name)) return true;
  return /^application\/(?:x-)?(?:ndjson|jsonl|javascript|ecmascript|sh|toml|sql|markdown)$/.test(
    name,
  );
}
