export interface Variable {
  name: string;
  kind: "discrete" | "continuous";
  states: string[];
  hidden: boolean;
  ordered?: boolean;
}
export type Arc = [string, string];
export interface Finding {
  state?: number;
  likelihood?: number[];
  value?: number;
}
export type Given = Record<string, Finding>;
/** A posterior: of states, or normals (weight, mean, sd) with mean, sd and the 5, 50 and 95 % quantiles. */
export interface Answer {
  p?: number[];
  mean?: number;
  sd?: number;
  quantiles?: number[];
  normals?: [number, number, number][];
  /** The largest standard error of the states, where the answer is drawn. */
  error?: number;
}
export interface Answers {
  log_probability: number | null;
  marginals: Answer[];
}
export interface Strength {
  tail: string;
  head: string;
  nats: number;
  p?: number;
}
export interface Family {
  name: string;
  family: string;
  parents: string[];
  parent_states: string[][];
  columns: string[];
  rows: number[][];
}
export interface Shape {
  kind: "network" | "mixture";
  component: string | null;
  variables: Variable[];
  arcs: Arc[];
  components: { weight: number; arcs: Arc[] }[];
  parameters: number;
}
export interface Estimate {
  method: string;
  value: number | null;
  kind: string;
  stderr: number | null;
  dimension?: number | null;
  note?: string;
  trustworthy?: boolean;
}
export interface ModelRecord {
  id: string;
  name: string;
  created: number;
  table: string | null;
  table_name: string | null;
  job: string | null;
  by: string;
  best: boolean | null;
  classes: number | null;
  hidden: string | null;
  columns: string[] | null;
  estimates: Estimate[] | null;
  curve: [number, number][] | null;
  criterion: string | null;
  log_likelihood: number | null;
}
export type Model = ModelRecord & Shape;
export interface Progress {
  part: number | null;
  say: string;
  best?: number | null;
  paths?: number[][];
  arcs?: Arc[];
}
export interface Job {
  id: string;
  kind: string;
  table: string;
  table_name: string;
  title: string;
  status: "queued" | "running" | "stopped" | "failed" | "done";
  say: string | null;
  error: string | null;
  created: number;
  ended: number | null;
  options: Record<string, any>;
  progress: Progress | null;
  resumable: boolean;
  result: any;
}
export interface TableRecord {
  id: string;
  name: string;
  file: string;
  created: number;
  shipped: string;
}
export interface Workspace {
  version: string;
  folder: string;
  tables: TableRecord[];
  models: ModelRecord[];
  jobs: Job[];
  suffixes: string[];
}
export interface Column {
  name: string;
  kind: "discrete" | "continuous" | "refused";
  ordered?: boolean;
  holes: number;
  states: string[];
  size?: number;
  counts?: number[];
  range?: [number, number] | null;
  mean?: number;
  sd?: number;
  examples?: string[];
}
export interface Note {
  text: string;
  mends: Record<string, any>[];
}
export interface Settings {
  kinds?: Record<string, string>;
  states?: Record<string, (string | number | boolean)[]>;
  ordered?: string[];
  holes?: string[];
  not_holes?: string[];
  drop?: string[];
  rename?: Record<string, string>;
  decimal?: string;
  thousands?: string;
  encoding?: string;
  delimiter?: string;
  quote?: string;
  escape?: string;
  comment?: string;
  header?: number;
  skip?: number;
  skip_end?: number;
  ragged?: boolean;
  day_first?: boolean;
  sheet?: string;
  weights?: string;
}
export interface TableShown extends TableRecord {
  settings: Settings;
  readable: boolean;
  rows: number;
  distinct: number;
  holes: number;
  complete: number;
  wasted: number;
  columns: Column[];
  patterns: { holes: number[]; rows: number }[];
  pattern_count: number;
  together: { columns: number[]; rows: number[][] } | null;
  decisions: string[];
  notes: Note[];
  problems: Note[];
}
/** Whatever answers: the server, or the engine in the page. */
export interface Asker {
  ask(given: Given): Promise<Answers>;
  explain(given: Given): Promise<{ states: Given }>;
  family(name: string, component: number): Promise<Family>;
  sensitivity?(given: Given, target: string): Promise<{ name: string; moves: number }[]>;
  telling?(given: Given, target: string): Promise<{ name: string; nats: number; exact: boolean }[]>;
}
