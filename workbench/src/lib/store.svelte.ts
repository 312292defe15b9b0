// What the page knows: the workspace, where one is, what is given, and what went wrong.
import { enter, get, listen, post, Refused } from "./api";
import type { Given, Job, Model, ModelRecord, TableShown, Workspace } from "./types";

export type Screen = "welcome" | "table" | "learn" | "graph" | "compare" | "rows" | "export";

class Store {
  space = $state<Workspace | null>(null);
  screen = $state<Screen>("welcome");
  tableId = $state<string | null>(null);
  modelId = $state<string | null>(null);
  table = $state<TableShown | null>(null);
  model = $state<Model | null>(null);
  given = $state<Record<string, Given>>({});
  lost = $state(false);
  locked = $state(false);
  toast = $state<{ text: string; bad: boolean } | null>(null);
  guide = $state<number | null>(null);
  theme = $state<"auto" | "light" | "dark">("auto");
  private timer = 0;

  get models(): ModelRecord[] {
    return (this.space?.models ?? []).filter((model) => !this.tableId || model.table === this.tableId || !model.table);
  }
  get jobs(): Job[] {
    return (this.space?.jobs ?? []).filter((job) => job.table === this.tableId).reverse();
  }
  get running(): number {
    return (this.space?.jobs ?? []).filter((job) => job.status === "running" || job.status === "queued").length;
  }
  job(id: string): Job | undefined {
    return this.space?.jobs.find((job) => job.id === id);
  }

  async begin(): Promise<void> {
    enter();
    this.theme = (localStorage.getItem("lacunary-theme") as any) ?? "auto";
    this.dress();
    addEventListener("hashchange", () => this.route());
    try {
      await this.refresh();
    } catch (problem) {
      this.locked = problem instanceof Refused && problem.status === 401;
      if (!this.locked) this.complain(problem);
      return;
    }
    await this.route();
    void listen(
      (event) => this.heard(event),
      (gone) => {
        if (this.lost && !gone) void this.refresh();
        this.lost = gone;
      },
    );
  }

  dress(): void {
    document.documentElement.dataset.theme = this.theme;
  }

  turn(): void {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = this.theme === "auto" ? (dark ? "dark" : "light") : this.theme;
    this.theme = now === "dark" ? "light" : "dark";
    localStorage.setItem("lacunary-theme", this.theme);
    this.dress();
  }

  async refresh(): Promise<void> {
    this.space = await get("workspace");
    if (this.tableId && !this.space!.tables.some((t) => t.id === this.tableId)) this.tableId = null;
  }

  private heard(event: any): void {
    if (event.type === "progress") {
      const job = this.job(event.id);
      if (job) job.progress = event.progress;
      return;
    }
    if (event.type === "table" && event.id === this.tableId) void this.loadTable(event.id);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.refresh().catch((p) => this.complain(p)), 60);
  }

  go(screen: Screen, id?: string | null): void {
    const own = screen === "graph" ? (id ?? this.modelId) : screen === "welcome" ? null : (id ?? this.tableId);
    location.hash = `#/${screen}${own ? `/${own}` : ""}`;
  }

  async route(): Promise<void> {
    const [screen, id] = location.hash.replace(/^#\/?/, "").split("/");
    const known = ["table", "learn", "graph", "compare", "rows", "export"];
    try {
      if (screen === "graph") {
        const wanted = id || this.best()?.id;
        if (wanted) await this.loadModel(wanted);
      } else if (known.includes(screen)) {
        const wanted = id || this.tableId || this.space?.tables.at(-1)?.id;
        if (wanted) await this.loadTable(wanted);
      }
      this.screen = known.includes(screen) ? (screen as Screen) : "welcome";
    } catch (problem) {
      this.complain(problem);
      this.screen = "welcome";
    }
  }

  /** The model that is meant where none is chosen: the newest that a job put first. */
  best(): ModelRecord | undefined {
    const mine = this.models.filter((model) => model.best !== false);
    const own = mine.filter((model) => model.table === this.tableId);
    return own.find((model) => model.id === this.modelId) ?? own.at(-1) ?? mine.find((model) => model.id === this.modelId) ?? mine.at(-1);
  }

  async loadTable(id: string): Promise<void> {
    this.table = await get(`tables/${id}`);
    if (this.tableId !== id) {
      this.tableId = id;
      if (this.model && this.model.table !== id) ((this.model = null), (this.modelId = null));
    }
  }

  async loadModel(id: string): Promise<void> {
    if (this.model?.id !== id) this.model = await get(`models/${id}`);
    this.modelId = id;
    const table = this.model!.table;
    if (table && table !== this.tableId) await this.loadTable(table);
  }

  /** What is given is shared by all models of a table, so that they are seen under the same findings. */
  get key(): string {
    return this.model?.table ?? this.modelId ?? "";
  }

  async start(asked: Record<string, unknown>): Promise<Job | null> {
    try {
      const job = await post("jobs", { table: this.tableId, ...asked });
      await this.refresh();
      return job;
    } catch (problem) {
      this.complain(problem);
      return null;
    }
  }

  async act(work: () => Promise<unknown>, done = ""): Promise<boolean> {
    try {
      await work();
      if (done) this.say(done);
      return true;
    } catch (problem) {
      this.complain(problem);
      return false;
    }
  }

  say(text: string): void {
    this.toast = { text, bad: false };
  }
  complain(problem: unknown): void {
    if (problem instanceof Refused && problem.status === 401) this.locked = true;
    this.toast = { text: problem instanceof Error ? problem.message : String(problem), bad: true };
  }
}

export const store = new Store();
