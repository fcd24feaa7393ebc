// Puts the page together.
import { redrawAll } from "./charts.js";
import { FiguresPanel } from "./figures.js";
import { RunPanel } from "./run.js";
import { ShopPanel } from "./shop.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

function themeChanged() {
  button.setAttribute("aria-pressed", String(dark()));
  redrawAll();
}

button.addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* lasts as long as the page */ }
  themeChanged();
});
system.addEventListener("change", themeChanged);

for (const place of document.querySelectorAll("[data-origin]")) place.textContent = location.origin;

const figures = new FiguresPanel();
new RunPanel((on) => figures.watchClosely(on));
new ShopPanel();
themeChanged();
