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
