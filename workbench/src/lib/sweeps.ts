// Curves of the evidence over numbers of classes or components, of all jobs on a table.
import type { Job, ModelRecord } from "./types";
import type { Line } from "../parts/Curve.svelte";
import { estimate } from "./words";

export interface Sweep {
  title: string;
  lines: Line[];
}

export function sweepsOf(models: ModelRecord[], jobs: Job[]): Sweep[] {
  const out: Sweep[] = [];
  for (const job of jobs.filter((one) => one.kind === "classes" && one.status === "done")) {
    const own = models.filter((model) => model.job === job.id && model.classes && model.estimates?.length);
    if (own.length < 2) continue;
    const lines = own[0].estimates!.map(({ method }) => ({
      name: estimate(method),
      points: own.flatMap((model) => {
        const found = model.estimates!.find((e) => e.method === method);
        return found && found.value !== null ? [{ x: model.classes!, y: found.value, error: found.stderr }] : [];
      }),
    }));
    out.push({ title: `number of classes${job.options.aside ? `, ${job.options.aside} kept aside` : ""}`, lines: lines.filter((line) => line.points.length) });
  }
  for (const model of models.filter((one) => one.curve && one.curve.length > 1))
    out.push({ title: "number of components", lines: [{ name: "Cheeseman–Stutz and the prior of the graphs", points: model.curve!.map(([x, y]) => ({ x, y })) }] });
  return out;
}
