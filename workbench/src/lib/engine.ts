// A small exact engine: a junction tree for discrete variables, and linear Gaussians given those.
// Continuous variables are integrated out for each configuration of the discrete variables they depend on;
// what they say comes back as one more factor over these.

export interface Net {
  variables: { name: string; states: string[] }[];
  /** For each variable, its parents' places; discrete ones in the order in which the table is indexed. */
  parents: number[][];
  /** Tables with the variable's own state last; of a continuous one (intercept, coefficients, variance) last. */
  tables: number[][];
}
export interface Evidence {
  state?: number;
  likelihood?: number[];
  value?: number;
}
export interface Result {
  log_probability: number;
  marginals: { p?: number[]; mean?: number; sd?: number; quantiles?: number[]; normals?: [number, number, number][] }[];
}

/** Cells of all cliques together, and configurations of continuous variables' parents, that are not too many. */
export const MOST_CELLS = 4_000_000;
export const MOST_CONFIGURATIONS = 20_000;

interface Factor {
  scope: number[];
  values: Float64Array;
}
interface Clique {
  scope: number[];
  cells: number;
  parent: number;
  separator: number[];
  children: number[];
}

const product = (sizes: number[]): number => sizes.reduce((a, b) => a * b, 1);

/** For each cell over ``scope``, where the cell over ``part`` is. */
function positions(scope: number[], part: number[], size: number[]): Int32Array {
  const stride = new Map<number, number>();
  let step = 1;
  for (let k = part.length - 1; k >= 0; k--) (stride.set(part[k], step), (step *= size[part[k]]));
  const sizes = scope.map((v) => size[v]);
  const out = new Int32Array(product(sizes));
  const digits = new Int32Array(scope.length);
  const steps = scope.map((v) => stride.get(v) ?? 0);
  let at = 0;
  for (let cell = 0; cell < out.length; cell++) {
    out[cell] = at;
    for (let k = scope.length - 1; k >= 0; k--) {
      at += steps[k];
      if (++digits[k] < sizes[k]) break;
      at -= steps[k] * sizes[k];
      digits[k] = 0;
    }
  }
  return out;
}

class Tree {
  cliques: Clique[] = [];
  order: number[] = [];
  home: number[] = [];
  private maps = new Map<string, Int32Array>();
  private scopes: number[][];

  constructor(
    private size: number[],
    scopes: number[][],
  ) {
    this.scopes = scopes;
    this.triangulate();
    this.home = scopes.map((scope) => this.cliques.findIndex((c) => scope.every((v) => c.scope.includes(v))));
  }

  /** Eliminates the variable whose clique is the smallest, again and again; a spanning tree joins the cliques. */
  private triangulate(): void {
    const members = [...new Set(this.scopes.flat())];
    const near = new Map(members.map((v) => [v, new Set<number>()]));
    for (const scope of this.scopes) for (const a of scope) for (const b of scope) if (a !== b) near.get(a)!.add(b);
    const left = new Set(members);
    const found: number[][] = [];
    while (left.size) {
      let best = -1;
      let cost = Infinity;
      for (const v of left) {
        const weight = this.size[v] * product([...near.get(v)!].map((o) => this.size[o]));
        if (weight < cost) ((best = v), (cost = weight));
      }
      const around = [...near.get(best)!];
      const scope = [best, ...around].sort((a, b) => a - b);
      if (!found.some((f) => scope.every((v) => f.includes(v)))) found.push(scope);
      for (const a of around) for (const b of around) if (a !== b) near.get(a)!.add(b);
      for (const a of around) near.get(a)!.delete(best);
      left.delete(best);
    }
    const cells = found.map((scope) => product(scope.map((v) => this.size[v])));
    if (cells.reduce((a, b) => a + b, 0) > MOST_CELLS) throw new Error("the network is too wide for this page");
    this.cliques = found.map((scope, i) => ({ scope, cells: cells[i], parent: -1, separator: [], children: [] }));
    this.join();
  }

  private join(): void {
    const many = this.cliques.length;
    const joined = new Set<number>();
    while (joined.size < many) {
      let edge: [number, number] = [-1, -1];
      let shared = 0;
      for (const a of joined)
        for (let b = 0; b < many; b++) {
          if (joined.has(b)) continue;
          const common = this.cliques[a].scope.filter((v) => this.cliques[b].scope.includes(v)).length;
          if (common > shared) ((edge = [a, b]), (shared = common));
        }
      const next = edge[1] >= 0 ? edge[1] : this.cliques.findIndex((_, i) => !joined.has(i));
      if (edge[1] >= 0) {
        const [a, b] = edge;
        this.cliques[b].parent = a;
        this.cliques[a].children.push(b);
        this.cliques[b].separator = this.cliques[b].scope.filter((v) => this.cliques[a].scope.includes(v));
      }
      joined.add(next);
      this.order.push(next);
    }
  }

  private map(scope: number[], part: number[]): Int32Array {
    const key = `${scope.join()}|${part.join()}`;
    let found = this.maps.get(key);
    if (!found) this.maps.set(key, (found = positions(scope, part, this.size)));
    return found;
  }

  /** The belief of every clique, each summing to one, and the log of the whole sum; maxima in place of sums if asked. */
  propagate(factors: Factor[], most = false): { beliefs: Float64Array[]; log: number } {
    const potential = this.cliques.map((c) => new Float64Array(c.cells).fill(1));
    factors.forEach((factor, k) => {
      const i = this.home[k];
      const where = this.map(this.cliques[i].scope, factor.scope);
      const cells = potential[i];
      for (let cell = 0; cell < cells.length; cell++) cells[cell] *= factor.values[where[cell]];
    });
    let log = 0;
    const up: Float64Array[] = [];
    for (const i of [...this.order].reverse()) {
      const clique = this.cliques[i];
      const scaled = potential[i];
      const into = new Float64Array(product(clique.separator.map((v) => this.size[v])));
      const where = this.map(clique.scope, clique.separator);
      for (let cell = 0; cell < scaled.length; cell++)
        into[where[cell]] = most ? Math.max(into[where[cell]], scaled[cell]) : into[where[cell]] + scaled[cell];
      const sum = most ? into.reduce((a, b) => Math.max(a, b), 0) : into.reduce((a, b) => a + b, 0);
      if (!(sum > 0)) throw new Error("what is given has probability zero");
      log += Math.log(sum);
      up[i] = into.map((value) => value / sum);
      if (clique.parent >= 0) {
        const above = potential[clique.parent];
        const at = this.map(this.cliques[clique.parent].scope, clique.separator);
        for (let cell = 0; cell < above.length; cell++) above[cell] *= up[i][at[cell]];
      }
    }
    const beliefs: Float64Array[] = [];
    for (const i of this.order) {
      const clique = this.cliques[i];
      const own = potential[i];
      if (clique.parent >= 0) {
        const above = beliefs[clique.parent];
        const down = new Float64Array(up[i].length);
        const at = this.map(this.cliques[clique.parent].scope, clique.separator);
        for (let cell = 0; cell < above.length; cell++)
          down[at[cell]] = most ? Math.max(down[at[cell]], above[cell]) : down[at[cell]] + above[cell];
        const where = this.map(clique.scope, clique.separator);
        for (let cell = 0; cell < own.length; cell++) {
          const sent = up[i][where[cell]];
          own[cell] = sent > 0 ? (own[cell] * down[where[cell]]) / sent : 0;
        }
      }
      const sum = most ? own.reduce((a, b) => Math.max(a, b), 0) : own.reduce((a, b) => a + b, 0);
      beliefs[i] = own.map((value) => value / sum);
    }
    return { beliefs, log };
  }

  marginal(beliefs: Float64Array[], scope: number[]): Float64Array {
    const i = this.cliques.findIndex((c) => scope.every((v) => c.scope.includes(v)));
    const out = new Float64Array(product(scope.map((v) => this.size[v])));
    const where = this.map(this.cliques[i].scope, scope);
    beliefs[i].forEach((value, cell) => (out[where[cell]] += value));
    return out;
  }
}

interface Normal {
  mean: Float64Array;
  covariance: Float64Array[];
  log: number;
}

export class Engine {
  private size: number[];
  private discrete: number[];
  private continuous: number[];
  private above: number[];
  private tree: Tree;
  private scopes: number[][];

  constructor(readonly net: Net) {
    this.size = net.variables.map((v) => v.states.length);
    this.discrete = this.size.flatMap((s, i) => (s ? [i] : []));
    this.continuous = this.sorted(this.size.flatMap((s, i) => (s ? [] : [i])));
    const parents = this.continuous.flatMap((v) => net.parents[v].filter((p) => this.size[p]));
    this.above = [...new Set(parents)].sort((a, b) => a - b);
    if (product(this.above.map((v) => this.size[v])) > MOST_CONFIGURATIONS)
      throw new Error("the continuous variables depend on too many states for this page");
    this.scopes = this.discrete.map((v) => [...net.parents[v], v]);
    if (this.above.length) this.scopes.push(this.above);
    this.tree = new Tree(this.size, [...this.scopes, ...this.discrete.map((v) => [v])]);
  }

  private sorted(variables: number[]): number[] {
    const out: number[] = [];
    const seen = new Set<number>();
    const visit = (v: number): void => {
      if (seen.has(v) || this.size[v]) return;
      seen.add(v);
      this.net.parents[v].forEach(visit);
      out.push(v);
    };
    variables.forEach(visit);
    return out;
  }

  /** Every posterior under what is given. */
  ask(given: Record<number, Evidence>): Result {
    const { beliefs, log, normals } = this.run(given, false);
    const marginals: Result["marginals"] = this.net.variables.map(() => ({}));
    for (const v of this.discrete) {
      const p = this.tree.marginal(beliefs, [v]);
      const sum = p.reduce((a, b) => a + b, 0);
      marginals[v] = { p: Array.from(p, (value) => value / sum) };
    }
    if (this.continuous.length) {
      const weights = this.above.length ? this.tree.marginal(beliefs, this.above) : new Float64Array([1]);
      const sum = weights.reduce((a, b) => a + b, 0);
      this.continuous.forEach((v, k) => {
        const parts: [number, number, number][] = [];
        weights.forEach((weight, c) => {
          if (weight > 0) parts.push([weight / sum, normals[c].mean[k], Math.sqrt(Math.max(normals[c].covariance[k][k], 0))]);
        });
        marginals[v] = summed(parts);
      });
    }
    return { log_probability: log, marginals };
  }

  /** The jointly most probable states; continuous variables at their means given these. */
  explain(given: Record<number, Evidence>): Record<number, Evidence> {
    const { beliefs, normals } = this.run(given, true);
    const chosen = new Map<number, number>();
    for (const i of this.tree.order) {
      const scope = this.tree.cliques[i].scope;
      let best = -1;
      let at: number[] = [];
      beliefs[i].forEach((value, cell) => {
        const digits = scope.map(() => 0);
        let rest = cell;
        for (let k = scope.length - 1; k >= 0; k--) ((digits[k] = rest % this.size[scope[k]]), (rest = Math.floor(rest / this.size[scope[k]])));
        if (value > best && scope.every((v, k) => !chosen.has(v) || chosen.get(v) === digits[k])) ((best = value), (at = digits));
      });
      scope.forEach((v, k) => chosen.set(v, at[k]));
    }
    const out: Record<number, Evidence> = {};
    for (const v of this.discrete) out[v] = { state: chosen.get(v) };
    const c = this.above.reduce((sum, v) => sum * this.size[v] + chosen.get(v)!, 0);
    this.continuous.forEach((v, k) => (out[v] = { value: normals[c].mean[k] }));
    return out;
  }

  private run(given: Record<number, Evidence>, most: boolean) {
    const factors: Factor[] = this.discrete.map((v, k) => ({ scope: this.scopes[k], values: Float64Array.from(this.net.tables[v]) }));
    const normals = this.normals(given);
    let shift = 0;
    if (this.above.length) {
      shift = Math.max(...normals.map((n) => n.log));
      factors.push({ scope: this.above, values: Float64Array.from(normals, (n) => Math.exp(n.log - shift)) });
    } else if (this.continuous.length) shift = normals[0].log;
    for (const v of this.discrete) factors.push({ scope: [v], values: this.finding(v, given[v]) });
    if (!factors.length) return { beliefs: [], log: shift, normals };
    const found = this.tree.propagate(factors, most);
    return { beliefs: found.beliefs, log: found.log + shift, normals };
  }

  private finding(v: number, known: Evidence | undefined): Float64Array {
    const out = new Float64Array(this.size[v]).fill(1);
    if (known?.state !== undefined) (out.fill(0), (out[known.state] = 1));
    else if (known?.likelihood) {
      const top = Math.max(...known.likelihood);
      known.likelihood.forEach((value, i) => (out[i] = value / top));
    }
    return out;
  }

  /** The continuous variables given what is known of them, for every configuration of their discrete parents. */
  private normals(given: Record<number, Evidence>): Normal[] {
    if (!this.continuous.length) return [];
    const many = product(this.above.map((v) => this.size[v]));
    return Array.from({ length: many }, (_, c) => this.conditioned(this.joint(c), given));
  }

  private joint(configuration: number): Normal {
    const states = new Map<number, number>();
    let rest = configuration;
    for (const v of [...this.above].reverse()) (states.set(v, rest % this.size[v]), (rest = Math.floor(rest / this.size[v])));
    const n = this.continuous.length;
    const place = new Map(this.continuous.map((v, k) => [v, k]));
    const mean = new Float64Array(n);
    const covariance = Array.from({ length: n }, () => new Float64Array(n));
    this.continuous.forEach((v, k) => {
      const parents = this.net.parents[v];
      const real = parents.filter((p) => !this.size[p]).map((p) => place.get(p)!);
      const row = parents.filter((p) => this.size[p]).reduce((at, p) => at * this.size[p] + states.get(p)!, 0);
      const record = this.net.tables[v].slice(row * (real.length + 2), (row + 1) * (real.length + 2));
      mean[k] = record[0] + real.reduce((sum, p, i) => sum + record[1 + i] * mean[p], 0);
      for (let j = 0; j < k; j++) {
        const value = real.reduce((sum, p, i) => sum + record[1 + i] * covariance[p][j], 0);
        covariance[k][j] = covariance[j][k] = value;
      }
      covariance[k][k] = record.at(-1)! + real.reduce((sum, p, i) => sum + record[1 + i] * covariance[p][k], 0);
    });
    return { mean, covariance, log: 0 };
  }

  /** Takes in one value after the other: each update is of rank one. */
  private conditioned(normal: Normal, given: Record<number, Evidence>): Normal {
    this.continuous.forEach((v, k) => {
      const value = given[v]?.value;
      if (value === undefined) return;
      const { mean, covariance } = normal;
      const variance = covariance[k][k];
      const apart = value - mean[k];
      normal.log += variance > 0 ? -0.5 * (Math.log(2 * Math.PI * variance) + (apart * apart) / variance) : apart === 0 ? 0 : -Infinity;
      const gain = mean.map((_, j) => (variance > 0 ? covariance[j][k] / variance : 0));
      const row = Float64Array.from(covariance[k]);
      for (let i = 0; i < mean.length; i++) {
        mean[i] += gain[i] * apart;
        for (let j = 0; j < mean.length; j++) covariance[i][j] -= gain[i] * row[j];
      }
      mean[k] = value;
      for (let j = 0; j < mean.length; j++) covariance[k][j] = covariance[j][k] = 0;
    });
    return normal;
  }
}

function summed(normals: [number, number, number][]): Result["marginals"][number] {
  const mean = normals.reduce((sum, [w, m]) => sum + w * m, 0);
  const variance = normals.reduce((sum, [w, m, s]) => sum + w * (s * s + (m - mean) ** 2), 0);
  const quantiles = [0.05, 0.5, 0.95].map((p) => quantile(normals, p));
  return { mean, sd: Math.sqrt(variance), quantiles, normals };
}

function quantile(normals: [number, number, number][], p: number): number {
  let low = Math.min(...normals.map(([, m, s]) => m - 9 * s));
  let high = Math.max(...normals.map(([, m, s]) => m + 9 * s));
  for (let k = 0; k < 80; k++) {
    const middle = (low + high) / 2;
    const below = normals.reduce((sum, [w, m, s]) => sum + w * (s > 0 ? phi((middle - m) / s) : middle >= m ? 1 : 0), 0);
    if (below < p) low = middle;
    else high = middle;
  }
  return high;
}

/** The standard normal distribution, to seven digits: what is drawn needs no more. */
function phi(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.5 * z);
  const series = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const upper = 0.5 * t * Math.exp(-z * z + series);
  return x >= 0 ? 1 - upper : upper;
}
