// Builds the page of the workbench, the page that a model becomes, the notebook's widget, and the engine by itself.
import { build } from "vite";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const out = process.argv[2] ?? here("../src/lacunary/workbench/static");

const entries = [
  { entry: "src/main.ts", file: "app", format: "iife", name: "LacunaryWorkbench" },
  { entry: "src/page.ts", file: "page", format: "iife", name: "LacunaryPage" },
  { entry: "src/widget.ts", file: "widget", format: "es" },
  { entry: "src/lib/engine.ts", file: "engine", format: "iife", name: "LacunaryEngine" },
];

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const { entry, file, format, name } of entries) {
  await build({
    configFile: false,
    root: here("."),
    logLevel: "warn",
    plugins: [svelte({ compilerOptions: { css: "external", runes: true } })],
    build: {
      outDir: out,
      emptyOutDir: false,
      target: "es2022",
      modulePreload: false,
      reportCompressedSize: false,
      cssCodeSplit: false,
      lib: { entry: here(entry), formats: [format], name, fileName: () => `${file}.js`, cssFileName: file },
    },
  });
}
await copyFile(here("index.html"), `${out}/index.html`);
await copyFile(here("icon.svg"), `${out}/icon.svg`);
