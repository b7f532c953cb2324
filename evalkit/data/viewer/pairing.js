/* Two arms of a block side by side: rows of turns in one list, so both move together. */

const SIGNS = { same: "=", differs: "≠", "only left": "◀", "only right": "▶", "not compared": "·" };
const PAIR_HEIGHTS = { outline: 90, short: 260, full: 420 };

class Pairing {
  constructor({ ask, items, say, onFault, onClose }) {
    Object.assign(this, { ask, items, say, onFault });
    this.list = new List({
      label: "Two arms side by side", onFault,
      build: (index, data) => this.row(index, data),
      load: page => this.load(page),
      onMove: (index, data) => this.moved(index, data),
      onDraw: () => {},
    });
    items.attend(this.list);
    this.stands = make("div", { class: "stands" });
    this.part = make("select", { "aria-label": "Step", onchange: () => this.show(Number(this.part.value)) });
    this.first = make("p", { class: "parting" });
    this.totals = make("tbody");
    this.heads = make("tr");
    this.status = make("p", { class: "status" });
    this.node = make("div", { class: "pairing", hidden: true },
      this.stands,
      make("div", { class: "tools" }, make("label", {}, "step ", this.part),
        make("button", { type: "button", text: "next difference", title: "x; before: Shift+X", onclick: () => this.jump(1) }),
        make("button", { type: "button", text: "close the comparison", onclick: onClose })),
      this.first,
      make("details", { class: "totals" }, make("summary", { text: "Totals of both, and the difference" }),
        make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Totals" }, make("table", {}, make("thead", {}, this.heads), this.totals))),
      this.list.node, this.status);
  }

  async open(question) {
    this.question = question;
    const pair = await this.ask("pair", question);
    if (this.question !== question) return null;
    this.pair = pair;
    const side = n => make("div", {}, make("b", { text: pair.arms[n] }), ` ${pair.standings[n]}${pair.damages[n] ? `. NOT AS SEALED: ${pair.damages[n]}` : ""}`);
    this.stands.replaceChildren(side(0), side(1));
    this.part.replaceChildren(...pair.parts.map((part, n) => make("option", { value: n, text: `${part.step}: ${part.what}` })));
    this.heads.replaceChildren(...["", ...pair.arms, "difference"].map(text => make("th", { scope: "col", text })));
    this.totals.replaceChildren(...pair.measures.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row", text: name }), ...cells.map(text => make("td", { text })))));
    this.node.hidden = false;
    this.show(0);
    return pair;
  }

  show(number) {
    this.number = number;
    const part = this.pair.parts[number];
    this.first.replaceChildren(`${part.first === null ? "" : `First difference in what was done, row ${part.first + 1}: `}${part.sentence}`, " ",
      ...(part.first === null ? [] : [make("button", { type: "button", text: "Go there", onclick: () => this.goTo(part.first) })]));
    this.list.reset(part.verdicts.length, PAIR_HEIGHTS[this.items.level]);
    this.say(this.first.textContent);
  }

  goTo(index) {
    this.list.goTo(index, { focus: true });
  }

  setLevel() {
    this.list.resize(PAIR_HEIGHTS[this.items.level]);
  }

  async load(page) {
    const { rows, style } = await this.ask("rows", { pair: this.pair.pair, part: this.number, page });
    this.items.colour(style);
    return rows;
  }

  row(index, data) {
    const part = this.pair.parts[this.number];
    const side = (arm, turn) => make("div", { class: "side" },
      make("p", { class: "whose", text: turn ? `${arm}, ${turn.kind} ${turn.n}` : `${arm}: nothing that matches` }),
      ...(turn?.items ?? []).map(item => this.items.build(item, arm)),
      ...(turn?.n_more ? [make("p", { class: "meta", text: `and ${turn.n_more} more items; the transcript by itself shows them` })] : []));
    const { arms } = this.pair;
    const isFirst = index === part.first;
    return make("div", { class: `pair ${data.verdict.replaceAll(" ", "-")}${isFirst ? " first" : ""}` },
      make("p", { class: "verdict", text: `${SIGNS[data.verdict]} ${data.said}${isFirst ? " · first difference in what was done" : ""}` }),
      make("div", { class: "sides" }, side(arms[0], data.left), side(arms[1], data.right)));
  }

  /** The next row in which something else was done. */
  jump(way) {
    const { verdicts } = this.pair.parts[this.number];
    for (let n = this.list.current + way; n >= 0 && n < verdicts.length; n += way)
      if ("~<>".includes(verdicts[n])) return this.goTo(n);
    this.say(`no difference ${way > 0 ? "after" : "before"} this row`);
  }

  moved(index, data) {
    if (!this.status || index < 0) return;
    this.status.textContent = `row ${(index + 1).toLocaleString("en")} of ${this.list.n.toLocaleString("en")}${data ? ` · ${data.said}` : ""}`;
  }

  close() {
    this.question = null;
    this.list.reset(0, 0);
    this.node.hidden = true;
  }
}
