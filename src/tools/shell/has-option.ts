/** Long options by any beginning, since programs accept those; short ones wherever they stand. */
export function hasOption(long: readonly string[], short: string) {
  return (args: readonly string[]): boolean =>
    args.some((arg) => {
      if (arg.startsWith("--")) {
        const name = arg.slice(2).split("=", 1)[0] ?? "";
        return name !== "" && long.some((option) => option.startsWith(name));
      }
      return arg.startsWith("-") && [...arg.slice(1)].some((letter) => short.includes(letter));
    });
}
