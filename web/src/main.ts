// Starts the page.

import { mount } from "svelte";
import "uplot/dist/uPlot.min.css";
import "./ui/styles/theme.css";
import "./ui/styles/base.css";
import "./ui/styles/controls.css";
import "./ui/styles/layout.css";
import "./ui/styles/prose.css";
import "./charts/uplot.css";
import App from "./App.svelte";

mount(App, { target: document.getElementById("app")! });
