/** How much of a workspace is copied, and how much of a child's work is taken over. */
export interface CopyLimits {
  readonly maximumFiles: number;
  readonly maximumBytes: number;
  /** Of an untracked file in the source, and of any file that a child changed. */
  readonly maximumFileBytes: number;
}

const mebibyte = 1024 * 1024;

export const copyLimits: CopyLimits = {
  maximumFiles: 200_000,
  maximumBytes: 4096 * mebibyte,
  maximumFileBytes: 256 * mebibyte,
};

export const changeLimits: CopyLimits = {
  maximumFiles: 20_000,
  maximumBytes: 1024 * mebibyte,
  maximumFileBytes: 64 * mebibyte,
};
