import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import "./monitor.css";
import "./view.css";
import "./screens.css";

mount(App, { target: document.getElementById("app")! });
