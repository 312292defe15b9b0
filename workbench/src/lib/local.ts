// A model that lies in the page itself, asked by the small engine.
import type { Engine, Evidence, Net } from "./engine";
import type { Asker, Family, Given, Shape } from "./types";

export interface Embedded extends Shape {
  title: string;
  parents: number[][];
  tables: number[][];
}

export function localAsker(model: Embedded, make: (net: Net) => Engine): Asker {
  const engine = make({ variables: model.variables, parents: model.parents, tables: model.tables });
  const place = new Map(model.variables.map((v, i) => [v.name, i]));
  const placed = (given: Given): Record<number, Evidence> => Object.fromEntries(Object.entries(given).map(([name, one]) => [place.get(name)!, one]));
  const family = (name: string): Family => {
    const i = place.get(name)!;
    const discrete = model.parents[i].filter((p) => model.variables[p].states.length);
    const real = model.parents[i].filter((p) => !model.variables[p].states.length);
    const columns = model.variables[i].states.length ? model.variables[i].states : ["intercept", ...real.map((p) => model.variables[p].name), "variance"];
    const rows: number[][] = [];
    for (let k = 0; k < model.tables[i].length; k += columns.length) rows.push(model.tables[i].slice(k, k + columns.length));
    return { name, family: "", parents: discrete.map((p) => model.variables[p].name), parent_states: discrete.map((p) => model.variables[p].states), columns, rows };
  };
  const apart = (p: number[] | undefined, q: number[] | undefined): number => (p && q ? p.reduce((sum, value, i) => sum + Math.abs(value - q[i]), 0) / 2 : 0);
  return {
    ask: async (given) => engine.ask(placed(given)),
    explain: async (given) => {
      const found = engine.explain(placed(given));
      return { states: Object.fromEntries(model.variables.map((v, i) => [v.name, found[i]])) };
    },
    family: async (name) => family(name),
    sensitivity: async (given, target) => {
      const whole = engine.ask(placed(given)).marginals[place.get(target)!];
      const out = Object.keys(given)
        .filter((name) => name !== target)
        .map((name) => {
          const rest = { ...given };
          delete rest[name];
          const without = engine.ask(placed(rest)).marginals[place.get(target)!];
          const moves = whole.p ? apart(whole.p, without.p) : Math.min(1, Math.abs(whole.mean! - without.mean!) / (2 * (without.sd! || 1)));
          return { name, moves };
        });
      return out.sort((a, b) => b.moves - a.moves);
    },
  };
}
