// What could be done at the same time, in one query, or within a limit. The server has it made by a process of its
// own when it is asked for, so the first answer is empty.

const ADVICE_EVERY_MS = 60000, ADVICE_SOON_MS = 3000;

const adviceLine = (line) => element("li", {}, element("code", {}, `${line.path}:${line.line}`), " ", element("code", { class: "source" }, line.code || ""),
  line.for_s === undefined ? "" : element("span", { class: "number" }, ` ${format.time(line.for_s)} ${line.waits_for || ""}`));

const adviceSeen = (advice) => (advice.requests ? `Seen in ${advice.seen} of ${advice.observed} observed requests: ${advice.requests.slice(0, 3).join(", ")}` : "");

const adviceItem = (advice) => element("li", { class: "advice" }, element("h3", {}, advice.title),
  advice.lines?.length ? element("ol", {}, ...advice.lines.map(adviceLine)) : "",
  advice.code ? element("pre", { tabindex: "0", "aria-label": "How to write it" }, advice.code) : "",
  element("p", {}, advice.mend), element("p", { class: "soft" }, adviceSeen(advice)));

class Advice {
  async ask() {
    try {
      const document = await (await fetch("advice.json")).json();
      this.show(document);
      setTimeout(() => this.ask(), document.state === "asked" ? ADVICE_SOON_MS : ADVICE_EVERY_MS);
    } catch {
      // The event stream tells that the server does not answer.
      setTimeout(() => this.ask(), ADVICE_EVERY_MS);
    }
  }

  show({ advice, error, observed, state, unread }) {
    byId("advice").replaceChildren(...advice.map(adviceItem));
    setHidden(byId("advice"), advice.length === 0);
    setText(byId("advice-empty"), this.words(error, observed, state));
    setHidden(byId("advice-empty"), advice.length > 0);
    setText(byId("advice-count"), unread?.length ? `${unread.length} files of the application cannot be read here` : "");
  }

  words(error, observed, state) {
    if (error) return `There is no advice: ${error}`;
    if (state === "asked") return "Advice is being made.";
    return observed ? `No advice after ${observed} observed requests.` : "No request has waited yet for a millisecond or longer.";
  }
}
