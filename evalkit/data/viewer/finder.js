/* Search in what is shown: hits come in as they are found. */

const MAX_MARKS = 400;
const MARK = "evalkit-hit";

class Finder {
  constructor({ ask, goTo, say, onFault }) {
    Object.assign(this, { ask, goTo, say, onFault });
    this.forget();
    this.query = make("input", { type: "search", "aria-label": "Search", placeholder: "Search ( / )" });
    this.regex = make("input", { type: "checkbox" });
    this.case = make("input", { type: "checkbox" });
    this.count = make("span", { class: "count" });
    this.node = make("form", { class: "finder", role: "search", onsubmit: event => {
      event.preventDefault();
      this.submit();
    } },
      this.query,
      make("label", { title: "A regular expression (RE2)" }, this.regex, "regex"),
      make("label", { title: "Capitals matter" }, this.case, "Aa"),
      make("button", { type: "button", text: "↑", title: "Previous hit (N)", "aria-label": "Previous hit", onclick: () => this.step(-1) }),
      make("button", { type: "button", text: "↓", title: "Next hit (n)", "aria-label": "Next hit", onclick: () => this.step(1) }),
      this.count);
  }

  /** What was found is no more: another list is shown. */
  forget() {
    this.run = (this.run ?? 0) + 1;
    this.asked = "";
    this.hits = [];
    this.at = -1;
    this.known = new Set();
    if (this.count) this.count.textContent = "";
    CSS.highlights?.delete(MARK);
  }

  key() {
    return JSON.stringify([this.query.value, this.regex.checked, this.case.checked]);
  }

  submit() {
    if (!this.query.value) this.forget();
    else if (this.key() === this.asked) this.step(1);
    else this.search();
  }

  async search() {
    this.forget();
    const run = this.run;
    this.asked = this.key();
    const from = this.from();
    const question = { query: this.query.value, regex: this.regex.checked, case: this.case.checked };
    try {
      for (let part = await this.ask("find", question); run === this.run; part = await this.ask("more")) {
        for (const n of part.hits) this.known.add(n);
        this.hits.push(...part.hits);
        const done = part.n_searched >= part.n;
        if (this.at < 0) {
          const next = this.hits.findIndex(n => n >= from);
          if (next >= 0 || (done && this.hits.length)) this.show(Math.max(next, 0));
        }
        this.tell(done ? "" : `searched ${Math.floor((100 * part.n_searched) / part.n)} %`);
        if (done) return;
      }
    } catch (fault) {
      this.asked = "";
      this.onFault(fault);
    }
  }

  tell(more) {
    const n = this.hits.length.toLocaleString("en");
    const where = this.at < 0 ? n : `${(this.at + 1).toLocaleString("en")} of ${n}`;
    this.count.textContent = [`${where} ${this.hits.length === 1 ? "hit" : "hits"}`, more].filter(Boolean).join(", ");
    if (!more) this.say(this.count.textContent);
  }

  step(way) {
    if (!this.hits.length) return this.query.value ? this.submit() : this.query.focus();
    this.show((this.at + way + this.hits.length) % this.hits.length);
    this.tell("");
  }

  show(at) {
    this.at = at;
    this.goTo(this.hits[at]);
  }

  /** Is this item a hit, and what in it? Of an expression only the kernel knows. */
  isHit(n) {
    return this.known.has(n);
  }

  open(row) {
    const text = this.needle();
    for (const fold of row.querySelectorAll("details:not([open])"))
      if (text === null || this.plain(fold.textContent).includes(text)) fold.open = true;
  }

  needle() {
    return this.regex.checked ? null : this.plain(this.query.value);
  }

  plain(text) {
    return this.case.checked ? text : text.toLowerCase();
  }

  /** How far below a row's top its first hit stands; 0 where that is not known. */
  depth(row) {
    const range = this.ranges(row)[0];
    if (!range) return 0;
    const found = document.createRange();
    found.setStart(range.startContainer, range.startOffset);
    return found.getBoundingClientRect().top - row.getBoundingClientRect().top;
  }

  /** Mark a text where it stands in rows that are hits. */
  paint(rows) {
    if (globalThis.CSS?.highlights) CSS.highlights.set(MARK, new Highlight(...rows.flatMap(row => this.ranges(row)).slice(0, MAX_MARKS)));
  }

  ranges(row) {
    const text = this.asked ? this.needle() : null;
    const found = [];
    if (!text) return found;
    const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode()) && found.length < MAX_MARKS; ) {
      const held = this.plain(node.data);
      // Some letters change their number with their case; there no place is known.
      if (held.length !== node.data.length) continue;
      for (let at = held.indexOf(text); at >= 0 && found.length < MAX_MARKS; at = held.indexOf(text, at + text.length))
        found.push(new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + text.length }));
    }
    return found;
  }
}
