const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-size", "font-weight", "font-family", "display"];
const SHAPES = "rect,path,text,line,circle";

/** A drawing by itself, of a size of its own, with the colours it has on the screen. */
export function standalone(svg: SVGSVGElement, width: number, height: number, change: (copy: SVGSVGElement) => void = () => {}): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = svg.querySelectorAll<SVGElement>(SHAPES);
  copy.querySelectorAll<SVGElement>(SHAPES).forEach((one, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of KEPT) one.setAttribute(name, style.getPropertyValue(name));
    one.removeAttribute("class");
  });
  copy.querySelectorAll("[tabindex]").forEach((one) => one.removeAttribute("tabindex"));
  change(copy);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.ceil(width)));
  copy.setAttribute("height", String(Math.ceil(height)));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of [["width", "100%"], ["height", "100%"], ["fill", ground(svg)]]) paper.setAttribute(key, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** The colour on which something is drawn. */
function ground(of: Element): string {
  for (let at: Element | null = of; at; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)" && color !== "transparent") return color;
  }
  return "#ffffff";
}

/** A drawing as pixels, twice as fine as it is wide. */
export async function png(svg: string, fine = 2): Promise<Blob> {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await new Promise((done, fail) => ((image.onload = done), (image.onerror = () => fail(new Error("The drawing could not be made."))), (image.src = url)));
    const scale = Math.min(fine, 8000 / Math.max(image.width, image.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(image.width * scale);
    canvas.height = Math.ceil(image.height * scale);
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The drawing is too large."))), "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}
