/* The explorer: its parts put together, and what keys do. */

const JUMPS = { e: "error", d: "edit", s: "skill", u: "user" };
const KEYS = [
  ["j / k", "next, previous item"],
  ["n / N", "next, previous hit of the search"],
  ["/", "search"],
  ["e, d, s, u", "next error, edit (diff), skill, user message; with Shift: the one before"],
  ["x", "two arms: next difference; with Shift: the one before"],
  ["c", "next check that failed"],
  ["b", "what stands beside: checks, workspace, routing"],
  ["o / Enter", "fold or unfold the item"],
  ["1 / 2 / 3", "outline, short, full"],
  ["g / G", "first, last item"],
  ["?", "this help"],
];

class Explorer {
  constructor(model, host) {
    this.host = host;
    this.wire = new Wire(model, slow => this.slow(slow));
    this.ask = (kind, question = {}) => this.wire.ask(kind, { view: this.opened.view, ...question });
    this.build();
    this.follow();
    this.begin();
  }

  build() {
    const onFault = fault => this.fault(fault);
    const ask = (...said) => this.wire.ask(...said);
    const say = text => this.say(text);
    this.items = new Items({ ask: this.ask, goTo: n => !this.pairs && this.goToItem(n), onFault });
    this.chooser = new Chooser({ ask, onOpen: (...said) => this.open(...said), onCompare: question => this.compare(question), onFault });
    this.pairing = new Pairing({ ask, items: this.items, say, onFault, onClose: () => this.chooser.alone() });
    this.finder = new Finder({ ask: this.ask, goTo: n => this.goToItem(n, { unfold: true }), say, onFault });
    this.finder.from = () => this.item()?.n ?? 0;
    this.strip = new Strip({ goTo: n => this.goToItem(n) });
    this.aside = new Aside({ ask: this.ask, onFault });
    this.list = new List({
      label: "Transcript", onFault,
      build: (index, data) => this.items.build(data),
      load: page => this.load(page),
      onMove: (index, data) => this.moved(index, data),
      onDraw: rows => this.drawn(rows),
    });
    this.stamp = make("p", { class: "stamp", hidden: true });
    this.standing = make("p", { class: "standing" });
    this.kinds = make("div", { class: "kinds", role: "group", "aria-label": "Show only" });
    this.levels = make("select", { "aria-label": "How much of each item", onchange: () => this.setLevel(this.levels.value) },
      ...Object.keys(LEVELS).map(name => make("option", { value: name, text: name, selected: name === this.items.level })));
    this.hides = make("input", { type: "checkbox", onchange: () => this.redact() });
    const jump = (name, key, text) => make("button", { type: "button", text, title: `Next ${name} (${key}); before: Shift+${key}`, onclick: event => this.jump(name, event.shiftKey) });
    this.jumps = make("span", { class: "jumps", role: "group", "aria-label": "Jump to the next" }, jump("error", "e", "✖ error"), jump("edit", "d", "✎ edit"), jump("skill", "s", "★ skill"),
      make("button", { type: "button", text: "failed check", title: "Next check that failed (c)", onclick: () => this.failed() }));
    this.tools = make("div", { class: "tools", role: "toolbar", "aria-label": "Reading" },
      this.finder.node,
      this.jumps,
      make("label", {}, "show ", this.levels),
      make("label", { title: "On this machine all is shown; pages that are exported hide secrets" }, this.hides, "hide secrets"),
      make("button", { type: "button", text: "checks and more", title: "Checks, workspace, routing beside (b)", onclick: () => this.aside.toggle() }),
      make("button", { type: "button", text: "?", "aria-label": "Help", onclick: () => this.help.showModal() }));
    this.trouble = make("p", { class: "fault", role: "alert", hidden: true });
    this.status = make("p", { class: "status" });
    this.live = make("p", { class: "live", role: "status", "aria-live": "polite" });
    this.help = make("dialog", { "aria-label": "Keys" }, make("dl", {}, ...KEYS.flatMap(([key, what]) => [make("dt", { text: key }), make("dd", { text: what })])),
      make("form", { method: "dialog" }, make("button", { text: "Close" })));
    this.panes = make("div", { class: "panes" }, this.list.node, this.pairing.node, this.aside.node);
    this.node = make("section", { class: "explorer", "aria-label": "Transcript explorer", onkeydown: event => this.key(event) },
      this.stamp, this.chooser.node, this.standing, this.kinds, this.tools, this.trouble, this.strip.node, this.panes, this.status, this.live, this.help);
    this.items.attend(this.list);
    this.host.append(this.items.rare, this.node);
  }

  async begin() {
    try {
      const { runs, start, hides, shapes, n_items, n_rows } = await this.wire.ask("hello");
      this.list.perPage = n_items;
      this.pairing.list.perPage = n_rows;
      this.shapes = shapes;
      this.hides.checked = hides;
      await this.chooser.begin(runs, start);
    } catch (fault) {
      this.fault(fault);
    }
  }

  /** Light or dark as JupyterLab is, also when that changes. */
  follow() {
    const look = () => {
      this.node.classList.toggle("dark", document.body.dataset.jpThemeLight === "false");
      this.strip.draw();
    };
    this.themes = new MutationObserver(look);
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    look();
  }

  open(opened, trial, again) {
    this.opened = opened;
    this.again = again;
    if (this.pairs) this.compare(null);
    this.trouble.hidden = true;
    this.warn(opened.stamp);
    this.tell(opened, trial);
    this.chosen = new Set();
    this.items.reset();
    this.kinds.replaceChildren(...Object.entries(opened.counts).filter(([, n]) => n).map(([name, n]) => make("button", {
      type: "button", "aria-pressed": "false", "data-kind": name, text: `${this.shapes[name] ?? "✎"} ${name} ${n.toLocaleString("en")}`, onclick: () => this.choose(name),
    })));
    this.finder.forget();
    this.aside.offer(opened.beside);
    this.list.reset(opened.n, LEVELS[this.items.level]);
    this.say(`${opened.n.toLocaleString("en")} items`);
    this.overview(opened);
  }

  /** What became of the attempt; of a file without a trial, which it is. */
  tell(opened, trial) {
    this.trial = trial;
    this.standing.textContent = trial ? [trial.standing, trial.damage && `NOT AS SEALED: ${trial.damage}`].filter(Boolean).join(". ") : `${opened.path}: ${opened.kind}`;
  }

  async overview(opened) {
    this.strip.clear();
    try {
      const { buckets } = await this.ask("strip");
      if (opened === this.opened) this.strip.show(buckets, opened.n);
    } catch (fault) {
      this.fault(fault);
    }
  }

  async load(page) {
    const { items, style } = await this.ask("page", { page });
    this.items.colour(style);
    return items;
  }

  setLevel(name) {
    this.levels.value = name;
    this.items.setLevel(name);
    this.list.resize(LEVELS[name]);
    if (this.pairs) this.pairing.setLevel();
  }

  get pairs() {
    return !this.pairing.node.hidden;
  }

  /** Say that a run measures no model, where it does not. */
  warn(stamp) {
    this.stamp.hidden = !stamp;
    this.stamp.textContent = `${stamp}: nothing here is about a model`;
  }

  /** Show two arms of a block, or one transcript again. */
  async compare(question) {
    if (!question) this.pairing.close();
    else
      try {
        const pair = await this.pairing.open(question);
        if (!pair) return;
        this.trouble.hidden = true;
        this.warn(pair.stamp);
      } catch (fault) {
        this.pairing.close();
        this.fault(fault);
      }
    for (const one of [this.list.node, this.kinds, this.finder.node, this.jumps, this.status, this.standing]) one.hidden = this.pairs;
    this.strip.node.hidden = this.pairs || this.strip.buckets.length < 2;
    if (!this.pairs) this.list.later();
    (this.pairs ? this.pairing.list : this.list).node.focus({ preventScroll: true });
  }

  async choose(name) {
    this.chosen[this.chosen.has(name) ? "delete" : "add"](name);
    for (const one of this.kinds.children) one.setAttribute("aria-pressed", this.chosen.has(one.dataset.kind));
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const { n, at } = await this.ask("choose", { names: [...this.chosen], n: this.item()?.n ?? 0 });
      if (turn !== this.turn) return;
      this.finder.forget();
      this.list.reset(n, LEVELS[this.items.level], at);
      this.say(`${n.toLocaleString("en")} of ${this.opened.n.toLocaleString("en")} items are shown`);
    } catch (fault) {
      this.fault(fault);
    }
  }

  async redact() {
    try {
      await this.wire.ask("redact", { on: this.hides.checked });
      if (!this.opened) return;
      if (this.trial) {
        const { run, key, attempt } = this.trial;
        this.tell(this.opened, await this.wire.ask("trial", { run, key, attempt }));
      }
      this.list.reset(this.list.n, LEVELS[this.items.level], this.list.current);
      this.aside.offer(this.opened.beside);
      if (this.pairs) await this.compare(this.pairing.question);
    } catch (fault) {
      this.fault(fault);
    }
  }

  item() {
    return this.list.data(this.list.current);
  }

  async goToItem(n, { unfold = false } = {}) {
    try {
      const at = this.chosen.size ? (await this.ask("place", { n })).at : n;
      this.target = unfold ? n : null;
      this.list.goTo(at);
    } catch (fault) {
      this.fault(fault);
    }
  }

  async jump(name, back = false) {
    if (!this.opened) return;
    try {
      const { n, at } = await this.ask("jump", { name, n: this.item()?.n ?? -1, back });
      if (n === null) return this.say(`no ${name} ${back ? "before" : "after"} this item`);
      // By now the reader may be typing something else.
      this.list.goTo(at, { focus: !this.host.activeElement?.matches("input, select") });
      this.say(`${name} at item ${n}`);
    } catch (fault) {
      this.fault(fault);
    }
  }

  async failed() {
    if (!(await this.aside.nextFailed())) this.say("no check failed, or none was graded");
  }

  moved(index, data) {
    if (!this.status || index < 0) return;
    const of = `${(index + 1).toLocaleString("en")} of ${this.list.n.toLocaleString("en")}`;
    if (data) this.strip.follow(data.n);
    this.status.textContent = data ? `#${data.n} · ${of} · so far ${data.so_far}` : of;
  }

  drawn(rows) {
    if (!this.finder) return;
    const hits = [...rows.values()].filter(row => this.finder.isHit(Number(row.dataset.n)));
    for (const row of rows.values()) row.classList.toggle("hit", hits.includes(row));
    const row = hits.find(one => Number(one.dataset.n) === this.target);
    if (row) {
      this.target = null;
      this.items.toggle(row, true);
      this.finder.open(row);
      this.list.reveal(this.finder.depth(row));
    }
    this.finder.paint(hits);
  }

  key(event) {
    const within = event.composedPath()[0];
    if (event.key === "Escape" && within === this.finder.query) return this.list.node.focus();
    if (event.key === "Enter" && within.form && within.matches("input")) {
      // Lab keeps a form from being sent by this key.
      event.preventDefault();
      return within.form.requestSubmit();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || within.matches("input:not([type=checkbox]), select, textarea") || this.help.open) return;
    const doing = this.doing(event.key, within);
    if (!doing) return;
    event.preventDefault();
    doing();
  }

  doing(key, within) {
    if (this.pairs && JUMPS[key.toLowerCase()]) return null;
    const list = this.pairs ? this.pairing.list : this.list;
    const jump = JUMPS[key.toLowerCase()];
    const row = list.rows.get(list.current);
    if (key === "Enter" && within.matches("button, summary, a")) return null;
    if (jump) return () => this.jump(jump, key !== key.toLowerCase());
    return {
      j: () => list.goTo(list.current + 1, { focus: true }),
      k: () => list.goTo(list.current - 1, { focus: true }),
      g: () => list.goTo(0, { focus: true }),
      G: () => list.goTo(list.n - 1, { focus: true }),
      ...(this.pairs ? { x: () => this.pairing.jump(1), X: () => this.pairing.jump(-1) } : {
        n: () => this.finder.step(1),
        N: () => this.finder.step(-1),
        "/": () => this.finder.query.focus(),
      }),
      c: () => this.failed(),
      b: () => this.aside.toggle(),
      o: () => row?.dataset.n && this.items.toggle(row),
      Enter: () => row?.dataset.n && this.items.toggle(row),
      1: () => this.setLevel("outline"),
      2: () => this.setLevel("short"),
      3: () => this.setLevel("full"),
      "?": () => this.help.showModal(),
    }[key];
  }

  say(text) {
    this.live.textContent = text;
  }

  slow(slow) {
    this.node.classList.toggle("slow", slow);
    if (slow) this.say("waiting for the kernel; if it was restarted, run the cell again");
  }

  fault(fault) {
    this.trouble.hidden = false;
    this.trouble.replaceChildren(make("span", { text: fault.message }),
      ...(this.again ? [make("button", { type: "button", text: "Open it again", onclick: this.again })] : []),
      make("button", { type: "button", text: "Dismiss", onclick: () => (this.trouble.hidden = true) }));
  }

  close() {
    this.themes.disconnect();
    this.list.close();
    this.strip.close();
    this.pairing.list.close();
    this.wire.close();
  }
}

function render({ model, el }) {
  /* Within a tree of its own neither its style nor Lab's reaches the other; and Lab's
     keys, which would delete cells, keep still. */
  el.setAttribute("data-lm-suppress-shortcuts", "true");
  const host = el.attachShadow({ mode: "open" });
  host.append(make("style", { text: model.get("_style") }));
  const explorer = new Explorer(model, host);
  return () => explorer.close();
}

export default { render };
