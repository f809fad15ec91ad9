export interface Toolchain {
  /** Below the user's home. */
  readonly folder: string;
  /** The parts of it that hold programs. Tokens and caches lie beside them and stay hidden. */
  readonly shows: readonly string[];
  /** Tells its programs where the folder is, since they find another home. */
  readonly variable?: string;
}

export const toolchains: readonly Toolchain[] = [
  { folder: ".nvm", shows: ["versions"] },
  { folder: ".fnm", shows: ["node-versions", "aliases"] },
  { folder: ".local/share/fnm", shows: ["node-versions", "aliases"] },
  { folder: ".volta", shows: ["bin", "tools"], variable: "VOLTA_HOME" },
  { folder: ".asdf", shows: ["bin", "lib", "installs", "plugins", "shims"] },
  { folder: ".local/share/mise", shows: ["installs", "shims"] },
  { folder: ".pyenv", shows: ["."], variable: "PYENV_ROOT" },
  { folder: ".rbenv", shows: ["."], variable: "RBENV_ROOT" },
  { folder: ".rustup", shows: ["."], variable: "RUSTUP_HOME" },
  { folder: ".cargo", shows: ["bin"] },
  { folder: ".sdkman", shows: ["candidates"] },
  { folder: ".bun", shows: ["bin"] },
  { folder: ".deno", shows: ["bin"] },
  { folder: "go", shows: ["bin"] },
  { folder: ".local", shows: ["bin", "pipx/venvs", "share/pipx/venvs"] },
  { folder: ".local/share/uv", shows: ["python", "tools"] },
];
