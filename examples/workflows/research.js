// Asks until nothing new is found, then has one agent write the answer.
export const meta = {
  name: "research",
  description: "Answer a question from several angles",
  phases: [{ title: "Ask" }, { title: "Write" }],
};

const sources = {
  type: "object",
  required: ["facts", "open"],
  properties: {
    facts: { type: "array", items: { type: "string" } },
    open: { type: "array", items: { type: "string" } },
  },
};

const facts = new Set();
let open = [args?.question ?? "What is this?"];
for (let round = 1; open.length > 0 && round <= 3; round++) {
  phase("Ask");
  log(`round ${round}: ${open.length} open`);
  const answers = await parallel(
    open.map((question) => () => agent(`Research: ${question}`, { schema: sources })),
  );
  const found = answers.filter(Boolean);
  for (const fact of found.flatMap((one) => one.facts)) facts.add(fact);
  open = [...new Set(found.flatMap((one) => one.open))];
}
phase("Write");
return agent(`Write the answer from: ${[...facts].join("; ")}`, { label: "write" });
