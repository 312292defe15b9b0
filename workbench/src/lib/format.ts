export const percent = (p: number): string =>
  p >= 0.9995 && p < 1 ? ">99.9" : p > 0 && p < 0.0005 ? "<0.1" : (100 * p).toFixed(1);

/** A number in few digits, with a true minus sign. */
export function number(x: number | null | undefined, digits = 4): string {
  if (x === null || x === undefined || !isFinite(x)) return "–";
  const size = Math.abs(x);
  const text = size !== 0 && (size >= 1e6 || size < 1e-3) ? x.toExponential(2) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}
export const nats = (x: number | null | undefined, digits = 2): string =>
  x === null || x === undefined || !isFinite(x) ? "–" : x.toFixed(digits).replace("-", "−");
export const whole = (x: number): string => x.toLocaleString("en-US").replaceAll(",", "\u202f");
export const counted = (many: number, noun: string): string => `${whole(many)} ${noun}${many === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
export const cut = (text: string, most: number): string => (text.length > most ? text.slice(0, most - 1) + "…" : text);
export function ago(seconds: number): string {
  const past = Date.now() / 1000 - seconds;
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.round(past / 60)} min ago`;
  if (past < 86400) return `${Math.round(past / 3600)} h ago`;
  return `${Math.round(past / 86400)} d ago`;
}
