// Where boxes go: in layers, causes above effects, with few crossings (Sugiyama, Tagawa and Toda, 1981).
// An arc that spans layers passes through a bend in each; order by barycentres; places by pooling neighbours.
import type { Arc } from "./types";

export interface Size {
  width: number;
  height: number;
}
export interface Point {
  x: number;
  y: number;
}
export interface Layout {
  at: Map<string, Point>;
  bends: Map<string, Point[]>;
  width: number;
  height: number;
}
/** How wide a bend is, and how far it keeps from others. */
const BEND = 4;
const NEAR = 9;

export const arcKey = (tail: string, head: string): string => JSON.stringify([tail, head]);

export function layered(names: string[], arcs: Arc[], size: (name: string) => Size, gap = 28, drop = 56, aspect = 1.7): Layout {
  const place = new Map(names.map((name, i) => [name, i]));
  const edges = arcs.map(([a, b]) => [place.get(a)!, place.get(b)!] as const).filter(([a, b]) => a !== undefined && b !== undefined);
  const parents: number[][] = names.map(() => []);
  const children: number[][] = names.map(() => []);
  for (const [a, b] of edges) (parents[b].push(a), children[a].push(b));
  const order = topological(parents, children);
  const level = names.map(() => 0);
  for (const i of order) level[i] = parents[i].reduce((most, p) => Math.max(most, level[p] + 1), 0);
  for (const i of [...order].reverse())
    if (children[i].length && !parents[i].length) level[i] = Math.min(...children[i].map((c) => level[c])) - 1;

  const widths = names.map((name) => size(name).width);
  fold(level, children, widths, gap, names.map((name) => size(name).height), drop, aspect);
  const layers: number[][] = Array.from({ length: Math.max(-1, ...level) + 1 }, () => []);
  level.forEach((depth, i) => layers[depth].push(i));
  const links: [number, number][] = [];
  const routes: number[][] = [];
  for (const [tail, head] of edges) {
    const route = [tail];
    for (let depth = level[tail] + 1; depth < level[head]; depth++) {
      const bend = widths.length;
      widths.push(BEND);
      level.push(depth);
      layers[depth].push(bend);
      links.push([route.at(-1)!, bend]);
      route.push(bend);
    }
    links.push([route.at(-1)!, head]);
    routes.push([...route, head]);
  }
  spreadLonely(layers, links, names.length, widths);
  layers.forEach((layer, k) => (layers[k] = interleaved(layer, names.length)));
  const above: number[][] = widths.map(() => []);
  const below: number[][] = widths.map(() => []);
  for (const [a, b] of links) (above[b].push(a), below[a].push(b));
  const sorted = ordered(layers, above, below, widths.length > 1500 ? 8 : 24);
  const apart = (a: number, b: number): number => (a < names.length && b < names.length ? gap : NEAR);
  const xs = placed(sorted, above, below, widths, apart);
  return finished(names, size, sorted, xs, routes, edges, drop);
}

/** Leaves that would make a layer endless move down, so that rows are about alike; their arcs pass between the others. */
function fold(level: number[], children: number[][], widths: number[], gap: number, heights: number[], drop: number, aspect: number): void {
  const area = widths.reduce((sum, w, i) => sum + (w + gap) * (heights[i] + drop), 0);
  const target = Math.max(3.5 * (widths[0] ?? 0), Math.sqrt(area * aspect));
  for (let depth = 0; depth <= Math.max(...level) && depth < 400; depth++) {
    const here = level.flatMap((d, i) => (d === depth ? [i] : []));
    const leaves = here.filter((i) => !children[i].length);
    const wide = here.reduce((sum, i) => sum + widths[i] + gap, 0);
    const rows = Math.ceil(wide / target - 1e-9);
    const kept = Math.max(1, Math.ceil(here.length / rows) - (here.length - leaves.length));
    for (const i of leaves.slice(kept)) level[i]++;
  }
}

function topological(parents: number[][], children: number[][]): number[] {
  const waiting = parents.map((p) => p.length);
  const ready = waiting.flatMap((many, i) => (many ? [] : [i]));
  for (let k = 0; k < ready.length; k++) for (const c of children[ready[k]]) if (--waiting[c] === 0) ready.push(c);
  return ready;
}

/** Boxes without any arc, or many children of one parent, would make one endless line: fold wide layers. */
function spreadLonely(layers: number[][], links: [number, number][], many: number, widths: number[]): void {
  const joined = new Set(links.flat());
  const lonely = layers.flat().filter((i) => i < many && !joined.has(i));
  if (lonely.length < 2) return;
  layers.forEach((layer, k) => (layers[k] = layer.filter((i) => !lonely.includes(i))));
  const widest = Math.max(900, ...layers.map((layer) => layer.reduce((sum, i) => sum + widths[i] + 28, 0)));
  let row: number[] = [];
  let wide = 0;
  for (const i of lonely) {
    if (wide + widths[i] > widest) (layers.push(row), (row = []), (wide = 0));
    row.push(i);
    wide += widths[i] + 28;
  }
  if (row.length) layers.push(row);
  while (layers.length && !layers[0].length) layers.shift();
}

/** Boxes and bends by turns, so that arcs that pass a layer are spread over its gaps. */
function interleaved(layer: number[], many: number): number[] {
  const at = (part: number[]): [number, number][] => part.map((i, k) => [(k + 0.5) / part.length, i]);
  const spots = [...at(layer.filter((i) => i < many)), ...at(layer.filter((i) => i >= many))];
  return spots.sort((a, b) => a[0] - b[0]).map(([, i]) => i);
}

const mean = (values: number[], otherwise: number): number =>
  values.length ? values.reduce((a, b) => a + b, 0) / values.length : otherwise;

function ordered(layers: number[][], above: number[][], below: number[][], sweeps: number): number[][] {
  let current = layers.map((layer) => [...layer]);
  let best = current.map((layer) => [...layer]);
  let fewest = crossings(best, below);
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep++) {
    const down = sweep % 2 === 0;
    const near = down ? above : below;
    const at = new Map<number, number>();
    for (const layer of current) layer.forEach((i, k) => at.set(i, k));
    for (const layer of down ? current : [...current].reverse()) {
      const own = new Map(layer.map((i, k) => [i, mean(near[i].map((o) => at.get(o)!), k)]));
      layer.sort((a, b) => own.get(a)! - own.get(b)!);
      layer.forEach((i, k) => at.set(i, k));
    }
    const now = crossings(current, below);
    if (now < fewest) ((best = current.map((layer) => [...layer])), (fewest = now));
  }
  return best;
}

function crossings(layers: number[][], below: number[][]): number {
  let total = 0;
  for (let k = 0; k + 1 < layers.length; k++) {
    const at = new Map(layers[k + 1].map((i, place) => [i, place]));
    const ends = layers[k].flatMap((i) => below[i].map((o) => at.get(o) ?? 0).sort((a, b) => a - b));
    total += inversions(ends, layers[k + 1].length);
  }
  return total;
}

/** Pairs out of order, by a tree of counts. */
function inversions(values: number[], size: number): number {
  const tree = new Int32Array(size + 2);
  let total = 0;
  values.forEach((value, seen) => {
    let before = 0;
    for (let i = value + 1; i > 0; i -= i & -i) before += tree[i];
    total += seen - before;
    for (let i = value + 1; i <= size + 1; i += i & -i) tree[i]++;
  });
  return total;
}

function placed(layers: number[][], above: number[][], below: number[][], widths: number[], apart: (a: number, b: number) => number): Float64Array {
  const xs = new Float64Array(widths.length);
  for (const layer of layers) {
    let left = 0;
    layer.forEach((i, k) => {
      if (k) left += apart(layer[k - 1], i);
      xs[i] = left + widths[i] / 2;
      left += widths[i];
    });
  }
  for (let sweep = 0; sweep < 24; sweep++) {
    const near = sweep % 2 === 0 ? above : below;
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const wish = layer.map((i) => mean(near[i].map((o) => xs[o]), xs[i]));
      pooled(layer, wish, widths, apart).forEach((x, k) => (xs[layer[k]] = x));
    }
  }
  return xs;
}

/** Places as near to the wishes as order and gaps allow, in least squares: pool adjacent violators. */
function pooled(layer: number[], wish: number[], widths: number[], apart: (a: number, b: number) => number): number[] {
  const offset: number[] = [];
  let taken = 0;
  layer.forEach((i, k) => {
    if (k) taken += widths[layer[k - 1]] / 2 + apart(layer[k - 1], i) + widths[i] / 2;
    offset.push(taken);
  });
  const blocks: [number, number][] = [];
  wish.forEach((wanted, k) => {
    let value = wanted - offset[k];
    let many = 1;
    while (blocks.length && blocks.at(-1)![0] > value) {
      const [other, others] = blocks.pop()!;
      value = (value * many + other * others) / (many + others);
      many += others;
    }
    blocks.push([value, many]);
  });
  return blocks.flatMap(([value, many]) => Array<number>(many).fill(value)).map((value, k) => value + offset[k]);
}

function finished(
  names: string[], size: (name: string) => Size, layers: number[][], xs: Float64Array, routes: number[][],
  edges: (readonly [number, number])[], drop: number,
): Layout {
  const left = Math.min(0, ...layers.flat().map((i) => xs[i] - (i < names.length ? size(names[i]).width : BEND) / 2));
  const at = new Map<string, Point>();
  const passes = new Map<number, Point[]>();
  let y = 0;
  let width = 0;
  for (const layer of layers) {
    const tall = Math.max(20, ...layer.filter((i) => i < names.length).map((i) => size(names[i]).height));
    for (const i of layer) {
      const x = xs[i] - left;
      passes.set(i, [{ x, y: y - 2 }, { x, y: y + tall + 2 }]);
      if (i < names.length) {
        const w = size(names[i]).width;
        at.set(names[i], { x: x - w / 2, y });
        width = Math.max(width, x + w / 2);
      }
    }
    y += tall + drop;
  }
  const bends = new Map<string, Point[]>();
  routes.forEach((route, k) =>
    bends.set(arcKey(names[edges[k][0]], names[edges[k][1]]), route.slice(1, -1).flatMap((i) => passes.get(i)!)),
  );
  return { at, bends, width, height: Math.max(0, y - drop) };
}

/** A smooth line through points, from the lower edge of a box to the upper edge of another. */
export function curve(points: Point[]): string {
  let path = `M${points[0].x.toFixed(1)},${points[0].y.toFixed(1)}`;
  for (let k = 1; k < points.length; k++) {
    const [a, b] = [points[k - 1], points[k]];
    const half = (b.y - a.y) / 2;
    path += `C${a.x.toFixed(1)},${(a.y + half).toFixed(1)} ${b.x.toFixed(1)},${(b.y - half).toFixed(1)} ${b.x.toFixed(1)},${b.y.toFixed(1)}`;
  }
  return path;
}
