// A model as a page by itself: the model lies in the page, and the engine beside it.
import { mount } from "svelte";
import Page from "./Page.svelte";
import "./app.css";
import "./monitor.css";
import "./view.css";
import "./page.css";

const model = JSON.parse(document.getElementById("model")!.textContent!);
const { Engine } = (globalThis as any).LacunaryEngine;
mount(Page, { target: document.getElementById("app")!, props: { model, make: (net: any) => new Engine(net) } });
