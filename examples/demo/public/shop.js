// The shop's dashboard: one answer of the server, put into places that are there from the start.
import { ask } from "./api.js";
import { hoursChart, showColumns } from "./charts.js";
import { count, euros, euros2, seconds } from "./format.js";

const FEW = 10;

export class ShopPanel {
  constructor() {
    this.panel = document.getElementById("shop");
    this.status = document.getElementById("shop-status");
    this.error = document.getElementById("shop-error");
    this.button = document.getElementById("refresh");
    this.body = document.getElementById("products").tBodies[0];
    this.chart = hoursChart(document.getElementById("hours-chart"));
    this.button.addEventListener("click", () => this.load());
    this.load();
  }

  async load() {
    this.button.disabled = true;
    this.panel.setAttribute("aria-busy", "true");
    this.status.textContent = "Asking the shop…";
    this.error.hidden = true;
    try {
      this.show(await ask("/api/dashboard"));
    } catch (error) {
      this.status.textContent = "The dashboard could not be put together.";
      this.error.textContent = `${error.message} “Ask again” tries once more.`;
      this.error.hidden = false;
    }
    this.panel.setAttribute("aria-busy", "false");
    this.button.disabled = false;
  }

  show(shop) {
    this.status.textContent = `Put together in ${seconds(shop.seconds)} from 3 queries and ${shop.calls} calls to slow services; the calls one by one take ${seconds(shop.one_by_one_s, 1)}.`;
    const { orders, cents } = shop.totals;
    const totals = { orders: count(orders), sales: euros(cents), mean: euros2(cents / orders) };
    for (const place of this.panel.querySelectorAll("[data-total]")) place.textContent = totals[place.dataset.total];
    showColumns(this.chart, shop.hours);
    this.chart.root.parentNode.setAttribute("aria-label", `Orders by hour of the day: most at ${shop.hours.indexOf(Math.max(...shop.hours))}:00, ${count(Math.max(...shop.hours))}`);
    this.body.replaceChildren(...shop.products.map((product) => this.line(product)));
    if (shop.missing.length === 0) return;
    this.error.textContent = `No answer from: ${shop.missing.join(", ")}. Their places are empty; the rest is right.`;
    this.error.hidden = false;
  }

  line(product) {
    const line = document.createElement("tr");
    const name = Object.assign(document.createElement("th"), { scope: "row" });
    name.append(Object.assign(document.createElement("a"), { href: `/product?id=${product.id}`, textContent: product.name }));
    const cell = (text, className) => Object.assign(document.createElement("td"), { textContent: text ?? "–", className });
    const stock = cell(product.stock, "number");
    if (product.stock != null && product.stock < FEW) stock.replaceChildren(Object.assign(document.createElement("span"), { className: "few", textContent: `${product.stock}, few` }));
    line.append(name, cell(count(product.orders), "number"), cell(product.price && `€${product.price}`, "number"), stock, cell(product.reviews?.[0], "wide soft"));
    return line;
  }
}
