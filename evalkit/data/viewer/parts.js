/* What all parts rest on: elements made of text, HTML of the renderer taken in, and
   questions to the kernel. */

const TAGS = new Set(
  `a article b blockquote br caption code details div em footer h3 h4 h5 h6 header hr li
   ol p pre s span strong summary table tbody td th thead tr ul`.split(/\s+/));
const ATTRIBUTES = new Set(["class", "href", "id", "role", "aria-label", "scope", "start", "tabindex"]);
const SLOW_MS = 8000;

/** An element; `said` gives its attributes, its listeners (`onclick`) and its text. */
function make(tag, said = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(said)) {
    if (name === "text") made.textContent = value;
    else if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** HTML of the kernel's renderer as nodes. It escapes all that was said; here a second
    wall lets nothing through that it never makes. */
function adopt(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const one of parsed.body.querySelectorAll("*")) {
    if (!TAGS.has(one.localName) || one.namespaceURI !== "http://www.w3.org/1999/xhtml") {
      one.replaceWith(parsed.createTextNode(one.outerHTML));
      continue;
    }
    for (const { name, value } of [...one.attributes])
      if (!ATTRIBUTES.has(name) || (name === "href" && !value.startsWith("#")))
        one.removeAttribute(name);
  }
  const made = document.createDocumentFragment();
  made.append(...[...parsed.body.childNodes].map(node => document.adoptNode(node)));
  return made;
}

/** Questions to the kernel; several views of one widget hear all answers, and take
    their own. */
class Wire {
  constructor(model, onSlow) {
    this.model = model;
    this.onSlow = onSlow;
    this.mark = Math.random().toString(36).slice(2);
    this.n = 0;
    this.waiting = new Map();
    this.take = this.take.bind(this);
    model.on("msg:custom", this.take);
  }

  /** The answer; rejected with the sentence that the kernel says is wrong. */
  ask(kind, question = {}) {
    const id = `${this.mark}-${++this.n}`;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => this.onSlow(true), SLOW_MS);
      this.waiting.set(id, { resolve, reject, late });
      this.model.send({ ask: kind, id, ...question });
    });
  }

  take(answer) {
    const asked = this.waiting.get(answer.id);
    if (!asked) return;
    this.waiting.delete(answer.id);
    clearTimeout(asked.late);
    this.onSlow(false);
    if (answer.error) asked.reject(new Error(answer.error));
    else asked.resolve(answer);
  }

  close() {
    this.model.off("msg:custom", this.take);
    for (const { late } of this.waiting.values()) clearTimeout(late);
  }
}
