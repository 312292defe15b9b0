// The same monitor inside a notebook, as an anywidget.
import { mount, unmount } from "svelte";
import { Engine } from "./lib/engine";
import Page from "./Page.svelte";
import "./app.css";
import "./monitor.css";
import "./view.css";
import "./page.css";

function render({ model, el }: { model: any; el: HTMLElement }): () => void {
  const app = mount(Page, {
    target: el,
    props: {
      model: model.get("network"),
      make: (net: any) => new Engine(net),
      given: model.get("findings"),
      bare: true,
      told: (given: any) => {
        model.set("findings", JSON.parse(JSON.stringify(given)));
        model.save_changes();
      },
    },
  });
  return () => void unmount(app);
}
export default { render };
