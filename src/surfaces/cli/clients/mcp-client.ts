/** A program whose agent can be given our tools, and how it wants to be told. */
export interface McpClient {
  readonly name: string;
  readonly title: string;
  readonly format: "json" | "toml";
  /** Relative to the project; null: it has only the user's own. */
  readonly projectFile: string | null;
  userFile(place: UserPlace): string;
  /** Where the entry stands, given what is in the file already. */
  path(present: unknown, place: UserPlace): readonly string[];
  entry(launch: Launch): Readonly<Record<string, unknown>>;
  /** What the person does next, in one sentence. */
  readonly next: string;
}

export interface UserPlace {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/** The program that is started, and what it is given. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}
