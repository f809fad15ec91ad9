// Changes many files, a few at a time. A file that fails is reported, and does not stop the others:
// resumed, only the failed ones run again.
export const meta = {
  name: "migration",
  description: "Apply one change to many files",
  phases: [{ title: "Change" }],
};

phase("Change");
const files = args?.files ?? [];
const done = await parallel(
  files.map((file) => () => agent(`${args.change} in ${file}`, { label: file })),
);
const failed = files.filter((_, index) => done[index] === null);
log(`${files.length - failed.length} of ${files.length} files changed`);
return { changed: files.length - failed.length, failed };
