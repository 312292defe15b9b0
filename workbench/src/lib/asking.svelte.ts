// One model that is being asked: what is given, what was before, and the answers; the last question wins.
import type { Answer, Answers, Asker, Finding, Given, Shape } from "./types";

const STEPS = 200;
/** Milliseconds for which a finding waits to be shown together with its answer: two paintings take twice as long as one. */
const TOGETHER = 60;

export class Asking {
  given = $state<Given>({});
  answers = $state.raw(new Map<string, Answer>());
  before = $state.raw(new Map<string, Answer>());
  log = $state<number | null>(0);
  best = $state.raw<Given | null>(null);
  problem = $state("");
  past = $state.raw<Given[]>([]);
  future = $state.raw<Given[]>([]);
  /** Milliseconds from the last click to its answer. */
  took = $state(0);
  /** The largest standard error of what is shown, where it is drawn because exact inference does not fit; else 0. */
  get drawn(): number {
    return Math.max(0, ...[...this.answers.values()].map((answer) => answer.error ?? 0));
  }
  /** Whether an answer is awaited for so long that one should say so. */
  slow = $state(false);
  /** What is given as of the last click; `given` is what is shown. */
  asked: Given = {};
  private shown: Given = {};
  private wanted = 0;
  private busy = false;
  private again = false;

  constructor(
    readonly shape: Shape,
    readonly asker: Asker,
    given: Given = {},
    private told: (given: Given) => void = () => {},
  ) {
    const known = new Set(shape.variables.map((v) => v.name));
    this.given = this.asked = Object.fromEntries(Object.entries(given).filter(([name]) => known.has(name)));
    void this.first();
  }

  private named(found: Answers): Map<string, Answer> {
    return new Map(this.shape.variables.map((v, i) => [v.name, found.marginals[i]]));
  }

  private async first(): Promise<void> {
    try {
      const found = await this.timed(this.asker.ask({}));
      this.before = this.named(found);
      if (!Object.keys(this.given).length) ((this.answers = this.before), (this.log = found.log_probability));
      else await this.ask();
    } catch (problem) {
      this.problem = String((problem as Error).message ?? problem);
    }
  }

  private async timed<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => (this.slow = true), 1200);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      this.slow = false;
    }
  }

  set(name: string, finding: Finding | undefined, going = false): void {
    const next = { ...this.asked };
    if (finding === undefined) delete next[name];
    else next[name] = finding;
    this.become(next, !going);
  }

  become(next: Given, remember = true): void {
    if (remember) {
      this.past = [...this.past.slice(-STEPS), this.asked];
      this.future = [];
    }
    this.asked = next;
    setTimeout(() => this.show(next), TOGETHER);
    void this.ask();
  }

  /** Shows what is given, unless something else was clicked meanwhile. */
  private show(given: Given): void {
    if (given !== this.asked || given === this.shown) return;
    this.given = this.shown = given;
    this.best = null;
    this.told(given);
  }

  undo(): void {
    const before = this.past.at(-1);
    if (!before) return;
    this.future = [...this.future, this.asked];
    this.past = this.past.slice(0, -1);
    this.become(before, false);
  }

  redo(): void {
    const after = this.future.at(-1);
    if (!after) return;
    this.past = [...this.past, this.asked];
    this.future = this.future.slice(0, -1);
    this.become(after, false);
  }

  async ask(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    const began = performance.now();
    const [mine, asked] = [++this.wanted, this.asked];
    try {
      const found = await this.timed(this.asker.ask(asked));
      this.show(asked);
      if (mine === this.wanted) ((this.answers = this.named(found)), (this.log = found.log_probability), (this.problem = ""));
    } catch (problem) {
      this.show(asked);
      this.problem = String((problem as Error).message ?? problem);
    }
    this.took = performance.now() - began;
    this.busy = false;
    if (this.again) {
      this.again = false;
      await this.ask();
    }
  }

  async explain(): Promise<void> {
    if (this.best) {
      this.best = null;
      return;
    }
    try {
      this.best = (await this.asker.explain(this.asked)).states;
    } catch (problem) {
      this.problem = String((problem as Error).message ?? problem);
    }
  }
}
