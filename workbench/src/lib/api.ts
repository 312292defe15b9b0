// The server: every request carries the token, which came in the address's fragment and is kept for this tab.
import type { Answers, Asker, Family, Given } from "./types";

const KEY = "lacunary-token";
let token = "";

/** Takes the token out of the address, and returns what the address asks to be opened. */
export function enter(): string | null {
  const said = new URLSearchParams(location.hash.replace(/^#/, ""));
  const given = said.get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + (said.get("open") ? `#/${said.get("open")}` : "#/"));
  }
  token = sessionStorage.getItem(KEY) ?? "";
  return said.get("open");
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function send(method: string, path: string, body?: unknown, kind = "application/json"): Promise<Response> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (method !== "GET") headers["content-type"] = kind;
  const sent = body === undefined ? (method === "GET" ? undefined : "{}") : body instanceof Blob ? body : JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(`/api/${path}`, { method, headers, body: sent });
  } catch {
    throw new Refused(0, "The workbench does not answer. Is it still running?");
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, told.error ?? `The server said ${answer.status}.`);
  }
  return answer;
}

const json = async (method: string, path: string, body?: unknown) => (await send(method, path, body)).json();
export const get = (path: string) => json("GET", path);
export const post = (path: string, body: unknown = {}) => json("POST", path, body);
export const put = (path: string, body: unknown) => json("PUT", path, body);
export const drop = (path: string) => json("DELETE", path);

export async function upload(path: string, file: File, table?: string | null): Promise<any> {
  const where = `${path}?name=${encodeURIComponent(file.name)}${table ? `&table=${table}` : ""}`;
  return (await send("POST", where, file, "application/octet-stream")).json();
}

/** Saves what the server has under a name. */
export async function download(path: string): Promise<void> {
  const answer = await send("GET", path);
  const told = answer.headers.get("content-disposition") ?? "";
  keep(await answer.blob(), decodeURIComponent(told.split("''")[1] ?? "file"));
}

export function keep(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Hears what happens at the server, for as long as the page is open. */
export async function listen(heard: (event: any) => void, lost: (gone: boolean) => void): Promise<never> {
  for (;;) {
    try {
      const answer = await send("GET", "events");
      lost(false);
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const parts = rest.split("\n\n");
        rest = parts.pop()!;
        for (const part of parts) {
          const data = part.split("\n").find((line) => line.startsWith("data: "));
          if (data) heard(JSON.parse(data.slice(6)));
        }
      }
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 401) lost(true);
    }
    lost(true);
    await new Promise((done) => setTimeout(done, 1500));
  }
}

/** The server as what answers clicks on one model. */
export function serverAsker(model: string): Asker {
  const at = `models/${model}`;
  return {
    ask: (given: Given): Promise<Answers> => post(`${at}/ask`, { given }),
    explain: (given) => post(`${at}/explain`, { given }),
    family: (name, component): Promise<Family> =>
      get(`${at}/family?variable=${encodeURIComponent(name)}&component=${component}`),
    sensitivity: async (given, target) => (await post(`${at}/sensitivity`, { given, target })).findings,
    telling: async (given, target) => (await post(`${at}/telling`, { given, target })).variables,
  };
}
