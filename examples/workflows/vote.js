// The same question several times: equal calls are told apart by how many went before.
export const meta = { name: "vote", description: "Ask several agents, and take the majority" };

const ballot = {
  type: "object",
  required: ["answer"],
  properties: { answer: { enum: ["yes", "no"] } },
};
const votes = await parallel(
  Array.from({ length: args?.voters ?? 5 }, () => () => agent(args.question, { schema: ballot })),
);
const cast = votes.filter(Boolean).map(({ answer }) => answer);
const yes = cast.filter((answer) => answer === "yes").length;
return { yes, no: cast.length - yes, answer: yes * 2 > cast.length ? "yes" : "no" };
