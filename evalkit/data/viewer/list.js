/* A list of any length of which only what is seen is in the page. */

const GAP = 6;
const OVER = 500;
const MAX_ROWS = 80;
const MAX_PAGES = 16;
const MAX_IN_FLIGHT = 2;
/* Browsers lay out no more than some 30 million pixels. */
const MAX_PX = 12e6;

/** Heights of rows, and which row lies where; both in logarithmic time. */
class Heights {
  constructor(n, each) {
    this.n = n;
    this.sizes = new Float64Array(n).fill(each);
    this.tree = new Float64Array(n + 1);
    for (let i = 1; i <= n; i++) this.tree[i] = each * (i & -i);
  }

  set(index, size) {
    const more = size - this.sizes[index];
    this.sizes[index] = size;
    for (let i = index + 1; i <= this.n; i += i & -i) this.tree[i] += more;
  }

  before(index) {
    let sum = 0;
    for (let i = index; i > 0; i -= i & -i) sum += this.tree[i];
    return sum;
  }

  at(y) {
    let index = 0, bit = 1;
    while (bit * 2 <= this.n) bit *= 2;
    for (; bit; bit >>= 1)
      if (index + bit <= this.n && this.tree[index + bit] <= y) {
        index += bit;
        y -= this.tree[index];
      }
    return Math.min(index, this.n - 1);
  }
}

/** Rows are built by `build(index, data)`; `load(page)` gives a page's data, of `perPage`
    rows. What stands at the top stays there, whatever comes to stand above it. */
class List {
  constructor({ label, build, load, onFault, onMove, onDraw }) {
    Object.assign(this, { build, load, onFault, onMove, onDraw, perPage: 50 });
    this.rows = new Map();
    this.generation = 0;
    this.window = make("div", { class: "window" });
    this.space = make("div", { class: "space" }, this.window);
    this.node = make("div", { class: "scroll", role: "feed", tabindex: "0", "aria-label": label }, this.space);
    this.node.addEventListener("scroll", () => this.scrolled());
    this.watch = new ResizeObserver(() => this.sized());
    this.watch.observe(this.node);
    this.reset(0, 40);
  }

  /** Another list: `n` rows, each about so high, the one at `index` on top. */
  reset(n, each, index = 0) {
    this.generation++;
    this.n = n;
    this.pages = new Map();
    this.flying = new Set();
    this.failed = new Set();
    this.clear();
    this.current = n ? Math.min(index, n - 1) : -1;
    this.resize(each);
  }

  /** The same rows, each about so high. */
  resize(each) {
    this.heights = new Heights(this.n, Math.min(each + GAP, Math.max(4, MAX_PX / this.n)));
    this.clear();
    this.anchor = { index: Math.max(this.current, 0), delta: 0 };
    this.draw();
  }

  clear() {
    for (const row of this.rows.values()) this.drop(row);
    this.rows.clear();
  }

  drop(row) {
    const focused = this.node.getRootNode().activeElement;
    if (focused && row.contains(focused)) this.node.focus({ preventScroll: true });
    this.watch.unobserve(row);
    row.remove();
  }

  /** Put a row on top, and make it the current one. */
  goTo(index, { focus = false } = {}) {
    if (!this.n) return;
    this.mark(Math.max(0, Math.min(index, this.n - 1)));
    this.anchor = { index: this.current, delta: 0 };
    this.draw();
    if (focus) (this.rows.get(this.current) ?? this.node).focus({ preventScroll: true });
  }

  /** Scroll on within the current row, where what is looked for lies out of sight. */
  reveal(depth) {
    if (depth < this.node.clientHeight - 60) return;
    this.anchor = { index: this.current, delta: depth - 60 };
    this.later();
  }

  mark(index) {
    this.rows.get(this.current)?.removeAttribute("aria-current");
    this.current = index;
    this.rows.get(index)?.setAttribute("aria-current", "true");
    this.onMove(index, this.data(index));
  }

  data(index) {
    return this.pages.get(Math.floor(index / this.perPage))?.[index % this.perPage];
  }

  /** Build a row anew, such as one that is told in full now. */
  renew(index) {
    const row = this.rows.get(index);
    if (!row) return;
    this.drop(row);
    this.rows.delete(index);
    this.refresh();
  }

  /** Out of sight a list has no height, and forgets how far it was scrolled. */
  sized() {
    if (!this.node.clientHeight) this.gone = true;
    else this.later();
  }

  /** The reader scrolled: what is on top now is the anchor. */
  scrolled() {
    const top = this.node.scrollTop;
    if (this.gone || Math.abs(top - this.placed) < 1.5) return;
    this.placed = top;
    const index = this.heights.at(top);
    this.anchor = { index, delta: top - this.heights.before(index) };
    if (this.n) this.mark(index);
    this.later();
  }

  /** Draw for another reason than the reader's, whose scrolling may not be told yet. */
  refresh() {
    if (this.node.clientHeight && !this.gone) this.scrolled();
    this.draw();
  }

  later() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = 0;
      this.refresh();
    });
  }

  /** The rows around the anchor, and no others; settles in two or three rounds. */
  draw() {
    this.gone = !this.node.clientHeight;
    if (this.gone) return;
    if (!this.n) {
      this.space.style.height = "0";
      this.onDraw(this.rows);
      return;
    }
    for (let round = 0; round < 4; round++) {
      const [first, last] = this.range();
      for (const [index, row] of this.rows)
        if (index < first || index > last) {
          this.drop(row);
          this.rows.delete(index);
        }
      this.fill(first, last);
      this.want(first, last);
      const moved = this.measure();
      this.window.style.transform = `translateY(${this.heights.before(first)}px)`;
      this.space.style.height = `${this.heights.before(this.n)}px`;
      this.hold();
      if (!moved) break;
    }
    this.onDraw(this.rows);
  }

  range() {
    const height = this.node.clientHeight || 600;
    const top = this.heights.before(this.anchor.index) + this.anchor.delta;
    const most = Math.max(0, this.heights.before(this.n) - height);
    const at = Math.min(top, most);
    let first = this.heights.at(Math.max(0, at - OVER));
    const last = this.heights.at(at + height + OVER);
    if (last - first >= MAX_ROWS) first = Math.max(first, this.heights.at(at) - 8);
    return [first, Math.min(last, first + MAX_ROWS - 1)];
  }

  fill(first, last) {
    let before = null;
    for (let index = last; index >= first; index--) {
      let row = this.rows.get(index);
      const data = this.data(index);
      if (!row || (row.dataset.pending && data)) {
        const made = data ? this.build(index, data) : make("div", { class: "pending", "data-pending": "1", "aria-busy": "true", text: "…" });
        made.classList.add("row");
        made.dataset.index = index;
        made.tabIndex = -1;
        made.setAttribute("role", "article");
        made.setAttribute("aria-posinset", index + 1);
        made.setAttribute("aria-setsize", this.n);
        if (index === this.current) made.setAttribute("aria-current", "true");
        if (!data) made.style.height = `${this.heights.sizes[index] - GAP}px`;
        const focused = row && row === this.node.getRootNode().activeElement;
        if (row) this.watch.unobserve(row);
        if (row) row.replaceWith(made);
        else this.window.insertBefore(made, before);
        if (focused) made.focus({ preventScroll: true });
        this.rows.set(index, (row = made));
        this.watch.observe(row);
      }
      before = row;
    }
  }

  measure() {
    let moved = false;
    for (const [index, row] of this.rows) {
      const size = row.getBoundingClientRect().height + GAP;
      if (Math.abs(size - this.heights.sizes[index]) < 0.5) continue;
      this.heights.set(index, size);
      moved = true;
    }
    return moved;
  }

  hold() {
    const top = this.heights.before(this.anchor.index) + this.anchor.delta;
    if (Math.abs(this.node.scrollTop - top) > 0.5) this.node.scrollTop = top;
    this.placed = this.node.scrollTop;
  }

  /** Ask for the pages of rows that are seen, or soon will be; not for those that a
      reader has passed since. */
  want(first, last) {
    const page = index => Math.floor(Math.max(0, Math.min(index, this.n - 1)) / this.perPage);
    const wanted = [];
    for (let n = page(first); n <= page(last + this.perPage / 2); n++) wanted.push(n);
    wanted.sort((a, b) => Math.abs(a - page(this.anchor.index)) - Math.abs(b - page(this.anchor.index)));
    for (const n of wanted) {
      const known = this.pages.get(n);
      if (known) {
        this.pages.delete(n);
        this.pages.set(n, known);
      } else if (this.flying.size < MAX_IN_FLIGHT && !this.flying.has(n) && !this.failed.has(n)) this.fetch(n);
    }
    for (const n of this.pages.keys()) {
      if (this.pages.size <= MAX_PAGES) break;
      if (!wanted.includes(n)) this.pages.delete(n);
    }
  }

  async fetch(n) {
    const generation = this.generation;
    this.flying.add(n);
    try {
      const found = await this.load(n);
      if (generation === this.generation) this.pages.set(n, found);
    } catch (fault) {
      if (generation === this.generation) {
        this.failed.add(n);
        this.onFault(fault);
      }
    }
    if (generation !== this.generation) return;
    this.flying.delete(n);
    this.refresh();
    if (n === Math.floor(this.current / this.perPage)) this.onMove(this.current, this.data(this.current));
  }

  close() {
    cancelAnimationFrame(this.due);
    this.watch.disconnect();
    this.generation++;
  }
}
