/* Items as they stand in a list: folded or not, with what was opened in them. */

const LEVELS = { outline: 26, short: 110, full: 220 };

class Items {
  constructor({ ask, goTo, onFault }) {
    Object.assign(this, { ask, goTo, onFault });
    this.level = "short";
    this.rare = make("style");
    this.reset();
  }

  reset() {
    this.toggled = new Set();
    this.folds = new Map();
  }

  setLevel(name) {
    this.level = name;
    this.reset();
  }

  /** Rules for colours that no rule was there for yet. */
  colour(style) {
    for (const rule of style.match(/\.ansi\d8-\d+\{[^}]*\}/g) ?? [])
      if (!this.rare.textContent.includes(rule)) this.rare.textContent += rule;
  }

  /** An item's element; `side` tells items of two transcripts apart. */
  build(data, side = "") {
    const made = adopt(data.html).querySelector("article");
    made.removeAttribute("id");
    made.dataset.n = data.n;
    made.dataset.key = `${side}${data.n}`;
    const header = made.querySelector("header");
    header.prepend(make("button", { type: "button", class: "fold", title: "Fold or unfold (o)" }));
    header.after(make("p", { class: "gist", text: data.line }));
    if (data.cut && !side) made.append(make("button", { type: "button", class: "more", text: "Show more of this item" }));
    const known = this.folds.get(made.dataset.key);
    [...made.querySelectorAll("details")].forEach((fold, n) => {
      fold.open = known?.get(n) ?? this.level === "full";
    });
    this.fold(made);
    return made;
  }

  fold(item) {
    const folded = (this.level === "outline") !== this.toggled.has(item.dataset.key);
    item.classList.toggle("folded", folded);
    const button = item.querySelector(".fold");
    button.textContent = folded ? "▸" : "▾";
    button.setAttribute("aria-expanded", !folded);
    button.setAttribute("aria-label", `Item ${item.dataset.n}`);
  }

  toggle(item, unfold = item.classList.contains("folded")) {
    const { key } = item.dataset;
    if (unfold === item.classList.contains("folded")) this.toggled[this.toggled.has(key) ? "delete" : "add"](key);
    this.fold(item);
  }

  unfolded(fold) {
    const item = fold.closest(".item");
    if (!item) return;
    const { key } = item.dataset;
    if (!this.folds.has(key)) this.folds.set(key, new Map());
    this.folds.get(key).set([...item.querySelectorAll("details")].indexOf(fold), fold.open);
  }

  /** What a click in a list does; the row is marked in any case. */
  clicked(event, list) {
    const row = event.target.closest(".row");
    if (!row) return;
    const item = event.target.closest(".item");
    const link = event.target.closest("a[href]");
    if (link) {
      event.preventDefault();
      const n = /^#m(\d+)$/.exec(link.getAttribute("href"));
      if (n) this.goTo(Number(n[1]), item);
    } else if (event.target.closest(".fold")) this.toggle(item);
    else if (event.target.closest(".more")) this.whole(list, Number(row.dataset.index), Number(item.dataset.n));
    else list.mark(Number(row.dataset.index));
  }

  async whole(list, index, n) {
    try {
      const { items, style } = await this.ask("whole", { n });
      this.colour(style);
      Object.assign(list.data(index) ?? {}, items[0], { cut: false });
      list.renew(index);
    } catch (fault) {
      this.onFault(fault);
    }
  }

  attend(list) {
    list.node.addEventListener("click", event => this.clicked(event, list));
    list.node.addEventListener("toggle", event => this.unfolded(event.target), true);
  }
}
