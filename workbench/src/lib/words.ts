// What things are called on the page, and in a sentence what they are.
export const ESTIMATES: Record<string, { name: string; text: string }> = {
  bic: { name: "BIC", text: "The fit less a charge for every parameter: quick, and rough where variables are hidden." },
  sbic: { name: "sBIC", text: "BIC that charges less where classes could be merged." },
  "cheeseman-stutz": { name: "Cheeseman–Stutz", text: "The evidence of the table as if its holes were filled, corrected for that they are not: quick and good." },
  variational: { name: "Variational", text: "A lower bound: the evidence is at least this." },
  laplace: { name: "Laplace", text: "A bell curve about the best parameters: good where rows are many." },
  sampled: { name: "Sampled", text: "Drawn, with a stated error: the most exact, and the slowest." },
  exact: { name: "Exact", text: "Not an estimate: the evidence itself." },
  ais: { name: "Annealed", text: "Drawn by annealed importance sampling, with a stated error." },
  "search score": { name: "Search score", text: "What the search climbed by: the evidence and the prior of the graph." },
};
export const estimate = (method: string): string => ESTIMATES[method]?.name ?? method;

const MAKERS: Record<string, string> = { classes: "hidden classes", search: "search", mixture: "mixture", fit: "drawn", file: "file" };
export const maker = (by: string): string => MAKERS[by] ?? by;
