/* What stands beside a transcript: checks with their evidence, workspace, routing. */

const WORDS = { checks: "Checks", workspace: "Workspace", routing: "Routing", summary: "Summary" };

class Aside {
  constructor({ ask, onFault }) {
    Object.assign(this, { ask, onFault });
    this.what = "";
    this.tabs = make("div", { role: "tablist", "aria-label": "Beside the transcript", onkeydown: event => this.turn(event) });
    this.body = make("div", { class: "beside", role: "tabpanel", tabindex: "0", onclick: event => this.follow(event) });
    this.node = make("aside", { hidden: true, "aria-label": "Beside the transcript" }, this.tabs, this.body);
  }

  offer(names) {
    this.names = names;
    this.tabs.replaceChildren(...names.map(name => make("button", {
      type: "button", role: "tab", "data-what": name, text: WORDS[name], onclick: () => this.show(name),
    })));
    const open = !this.node.hidden;
    const wanted = names.includes(this.what) ? this.what : names[0];
    this.what = "";
    if (open) this.show(wanted);
  }

  toggle() {
    if (!this.node.hidden) this.node.hidden = true;
    else this.show(this.what || this.names?.[0]);
  }

  async show(what) {
    if (!what) return;
    this.node.hidden = false;
    for (const tab of this.tabs.children) {
      tab.setAttribute("aria-selected", tab.dataset.what === what);
      tab.tabIndex = tab.dataset.what === what ? 0 : -1;
    }
    if (what === this.what) return;
    this.what = what;
    this.body.replaceChildren(make("p", { class: "meta", text: "…" }));
    try {
      const { html } = await this.ask("beside", { what });
      if (this.what !== what) return;
      this.body.replaceChildren(adopt(html));
      this.body.scrollTop = 0;
    } catch (fault) {
      this.body.replaceChildren();
      this.what = "";
      this.onFault(fault);
    }
  }

  turn(event) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const tabs = [...this.tabs.children];
    const next = tabs[(tabs.indexOf(event.target) + way + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }

  /** Links lead to parts of this panel only. */
  follow(event) {
    const link = event.target.closest("a[href]");
    if (!link) return;
    event.preventDefault();
    const name = link.getAttribute("href").slice(1);
    [...this.body.querySelectorAll("[id]")].find(one => one.id === name)?.scrollIntoView({ block: "start" });
  }

  /** The next check that failed, from the top again after the last. */
  async nextFailed() {
    if (!this.names?.includes("checks")) return false;
    await this.show("checks");
    const failed = [...this.body.querySelectorAll(".failed")].map(one => one.closest("tr") ?? one);
    if (!failed.length) return false;
    this.at = ((this.at ?? -1) + 1) % failed.length;
    for (const row of failed) row.classList.toggle("chosen", row === failed[this.at]);
    failed[this.at].scrollIntoView({ block: "center" });
    return true;
  }
}
