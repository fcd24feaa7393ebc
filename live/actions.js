// What changes the server: cancel a request, reload, add or remove a worker. The server does it for those who
// have its token; the token is kept for this tab.

const TOKEN = "neverblock.token";

class Actions {
  constructor() {
    this.allowed = [];
    byId("unlock").addEventListener("click", () => this.ask());
    byId("reload").addEventListener("click", () => this.send("reload"));
    byId("worker-add").addEventListener("click", () => this.send("workers?change=add"));
    byId("worker-remove").addEventListener("click", () => this.send("workers?change=remove"));
    byId("token-dialog").addEventListener("close", () => this.take());
  }

  get token() { return sessionStorage.getItem(TOKEN); }

  // Names of what this server can do for who has its token.
  allow(names = []) {
    this.allowed = names;
    const unlocked = names.length > 0 && this.token;
    setHidden(byId("unlock"), names.length === 0);
    setText(byId("unlock"), unlocked ? "Lock actions" : "Unlock actions");
    setHidden(byId("worker-tools"), !(unlocked && names.includes("reload")));
  }

  ask() {
    if (this.token) {
      sessionStorage.removeItem(TOKEN);
      this.allow(this.allowed);
    } else {
      byId("token").value = "";
      byId("token-dialog").showModal();
    }
  }

  take() {
    const dialog = byId("token-dialog"), token = byId("token").value.trim();
    if (dialog.returnValue === "ok" && token) sessionStorage.setItem(TOKEN, token);
    this.allow(this.allowed);
  }

  offerCancel(cell, item) {
    const offered = item.exchange && item.fiber === "request" && this.token && this.allowed.includes("cancel");
    if (!offered) {
      cell.replaceChildren();
      return;
    }
    if (cell.dataset.exchange === item.exchange && cell.firstElementChild) return;
    const button = element("button", { type: "button", "aria-label": `Cancel ${item.method} ${item.path}` }, "Cancel");
    button.addEventListener("click", async () => {
      button.disabled = true;
      button.disabled = await this.send(`cancel?exchange=${item.exchange}`);
    });
    cell.dataset.exchange = item.exchange;
    cell.replaceChildren(button);
  }

  // Says whether the server does it.
  async send(path) {
    banner("");
    try {
      const answer = await fetch(path, { method: "POST", headers: { Authorization: `Bearer ${this.token}` } });
      if (answer.status === 401) sessionStorage.removeItem(TOKEN);
      if (!answer.ok) banner((await answer.text()).trim());
      this.allow(this.allowed);
      return answer.ok;
    } catch {
      banner("The server does not answer.");
      return false;
    }
  }
}
