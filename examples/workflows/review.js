// Reviewers look at files side by side; every finding is checked by a second agent before it counts.
export const meta = {
  name: "review",
  description: "Review files, and check every finding",
  whenToUse: "Before a change is merged",
  phases: [{ title: "Find" }, { title: "Check" }],
};

const findings = {
  type: "object",
  required: ["findings"],
  properties: { findings: { type: "array", items: { type: "string" } } },
};
const verdict = {
  type: "object",
  required: ["isReal"],
  properties: { isReal: { type: "boolean" } },
};

phase("Find");
const checked = await pipeline(
  args?.files ?? [],
  (file) => agent(`Review ${file}`, { label: `find ${file}`, schema: findings }),
  (found, file) =>
    parallel(
      found.findings.map((finding) => async () => {
        const options = { label: `check ${file}`, phase: "Check", schema: verdict };
        const { isReal } = await agent(`Is this true of ${file}? ${finding}`, options);
        return isReal ? `${file}: ${finding}` : null;
      }),
    ),
);
return checked.filter(Boolean).flat().filter(Boolean);
