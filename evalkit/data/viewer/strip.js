/* All of a transcript on one strip: kinds by colour, marks for errors, edits and skills,
   the tokens so far as a line, and what is in sight. A click goes there. */

const HEIGHT = 44;
const BAR = { top: 9, bottom: 36 };
const COLOURS = { user: "#0072b2", assistant: "#009e73", thinking: "#56b4e9", "tool call": "#e69f00", result: "#8c8c8c" };
const OTHER = "#c9c9c9";
const MARKS = {
  has_error: { word: "error", colour: "--bad", draw: (pen, x) => pen.fillRect(x - 1, 0, 3, BAR.bottom) },
  has_skill: { word: "skill", colour: "--skill", draw: (pen, x) => shape(pen, [[x, 0], [x + 4, 4], [x, 8], [x - 4, 4]]) },
  has_edit: { word: "edit", colour: "--link", draw: (pen, x) => shape(pen, [[x, 37], [x + 4, 44], [x - 4, 44]]) },
};

function shape(pen, corners) {
  pen.beginPath();
  for (const [x, y] of corners) pen.lineTo(x, y);
  pen.closePath();
  pen.fill();
}

class Strip {
  constructor({ goTo }) {
    this.goTo = goTo;
    this.canvas = make("canvas", {
      tabindex: "0", role: "slider", "aria-label": "Place in the transcript", "aria-valuemin": "0",
      onclick: event => this.goTo(this.buckets[this.at(event)].start),
      onpointermove: event => (this.canvas.title = this.told(this.at(event))),
      onkeydown: event => this.key(event),
    });
    const legend = [...Object.entries(COLOURS), ["other", OTHER]].map(([name, colour]) => {
      const patch = make("i");
      patch.style.background = colour;
      return make("span", {}, patch, name);
    });
    this.node = make("div", { class: "strip", hidden: true }, this.canvas,
      make("p", { class: "legend" }, ...legend, make("span", { text: "▏error  ◆ skill  ▲ edit  ╱ tokens so far" })));
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.canvas);
    this.clear();
  }

  clear() {
    this.buckets = [];
    this.now = 0;
    this.node.hidden = true;
  }

  /** `buckets` as the kernel's timeline makes them. */
  show(buckets, n) {
    this.buckets = buckets;
    this.n = n;
    this.node.hidden = buckets.length < 2;
    this.canvas.setAttribute("aria-valuemax", n - 1);
    this.follow(0);
    this.draw();
  }

  /** The item that is read now. */
  follow(n) {
    this.now = n;
    if (!this.buckets.length) return;
    this.canvas.setAttribute("aria-valuenow", n);
    this.canvas.setAttribute("aria-valuetext", this.told(this.bucketOf(n)));
    this.draw();
  }

  bucketOf(n) {
    let low = 0, high = this.buckets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.buckets[middle].start <= n) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  at(event) {
    const part = event.offsetX / this.canvas.clientWidth;
    return Math.max(0, Math.min(this.buckets.length - 1, Math.floor(part * this.buckets.length)));
  }

  told(at) {
    const bucket = this.buckets[at];
    const kinds = Object.entries(bucket.counts).map(([name, n]) => `${n} ${name}`);
    const marks = Object.entries(MARKS).filter(([name]) => bucket[name]).map(([, { word }]) => word);
    const time = bucket.time?.slice(0, 19).replace("T", " ");
    return [`#${bucket.start}`, time, kinds.join(", "), marks.length && `with ${marks.join(", ")}`].filter(Boolean).join(" · ");
  }

  key(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const at = Math.max(0, Math.min(this.buckets.length - 1, this.bucketOf(this.now) + way));
    this.goTo(this.buckets[at].start);
  }

  draw() {
    const { canvas, buckets } = this;
    const width = canvas.clientWidth;
    if (!width || !buckets.length) return;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = HEIGHT * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const each = width / buckets.length;
    buckets.forEach((bucket, n) => this.bar(pen, bucket, n * each, Math.max(each, 1)));
    for (const [name, { colour, draw }] of Object.entries(MARKS)) {
      pen.fillStyle = style.getPropertyValue(colour);
      buckets.forEach((bucket, n) => bucket[name] && draw(pen, (n + 0.5) * each));
    }
    this.line(pen, style, each);
    pen.strokeStyle = pen.fillStyle = style.getPropertyValue("--ink");
    const x = (this.bucketOf(this.now) + 0.5) * each;
    pen.fillRect(x - 1, 0, 2, HEIGHT);
    shape(pen, [[x - 5, 0], [x + 5, 0], [x, 7]]);
  }

  bar(pen, { counts }, x, width) {
    const sum = Object.values(counts).reduce((a, b) => a + b, 0);
    let y = BAR.top;
    for (const [kind, n] of Object.entries(counts)) {
      const height = ((BAR.bottom - BAR.top) * n) / sum;
      pen.fillStyle = COLOURS[kind] ?? OTHER;
      pen.fillRect(x, y, width + 0.5, height);
      y += height;
    }
  }

  line(pen, style, each) {
    const sums = this.buckets.map(({ cumulative }) => Object.values(cumulative).reduce((a, b) => a + b, 0));
    const most = sums.at(-1);
    if (!most) return;
    pen.beginPath();
    sums.forEach((tokens, n) => pen.lineTo((n + 0.5) * each, BAR.bottom - ((BAR.bottom - BAR.top) * tokens) / most));
    for (const [colour, thick] of [["--ground", 3], ["--ink", 1.2]]) {
      pen.strokeStyle = style.getPropertyValue(colour);
      pen.lineWidth = thick;
      pen.stroke();
    }
  }

  close() {
    this.watch.disconnect();
  }
}
