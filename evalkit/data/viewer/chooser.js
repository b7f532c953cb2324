/* Which transcript: run, case, arm, repeat, attempt, step; or any file. */

const STEPS = ["run", "case", "arm", "repeat", "attempt", "step", "beside"];

class Chooser {
  constructor({ ask, onOpen, onCompare, onFault }) {
    Object.assign(this, { ask, onOpen, onCompare, onFault });
    this.run = this.trial = null;
    this.turn = 0;
    this.selects = Object.fromEntries(STEPS.map(name => [name, make("select", { name, disabled: true, onchange: () => this.chosen(name) })]));
    this.path = make("input", { type: "text", name: "file", placeholder: "or a transcript's path", "aria-label": "Path of a transcript", spellcheck: "false" });
    const labels = STEPS.map(name => make("label", {}, make("span", { text: name === "beside" ? "arm beside it" : name }), this.selects[name]));
    this.node = make("form", { class: "chooser", "aria-label": "Which transcript", onsubmit: event => {
      event.preventDefault();
      if (this.path.value.trim()) this.guard(() => this.openFile(this.path.value.trim()));
    } }, ...labels, make("label", {}, make("span", { text: "file" }), this.path), make("button", { text: "Open" }));
  }

  async guard(doing) {
    const turn = ++this.turn;
    try {
      await doing(() => turn !== this.turn);
    } catch (fault) {
      if (turn === this.turn) this.onFault(fault);
    }
  }

  begin(runs, start) {
    return this.guard(async over => {
      const named = start.run && !runs.includes(start.run) ? [start.run, ...runs] : runs;
      this.options("run", named.map(run => [run, run]), start.run, "choose a run");
      if (start.file) {
        this.path.value = start.file;
        await this.openFile(start.file, over);
      } else if (start.run) await this.openRun(start.run, start.trial, over);
      if (start.other && this.trial) {
        this.options("beside", this.others(), start.other, "nothing");
        await this.compare(start.other);
      }
    });
  }

  chosen(name) {
    return this.guard(async over => {
      const { run, attempt, step } = this.selects;
      if (name === "run") return run.value && this.openRun(run.value, "", over);
      if (name === "step") return this.open(step.value, over);
      if (name === "beside") return this.compare(this.selects.beside.value);
      if (name === "attempt") return this.openTrial(this.trial.key, Number(attempt.value), over);
      this.fill();
      return this.openTrial(this.selects.repeat.selectedOptions[0].dataset.key, null, over);
    });
  }

  async openRun(name, key, over) {
    const run = await this.ask("run", { run: name });
    if (over()) return;
    this.run = run;
    if (!run.trials.length) throw new Error(`${name}: none of its ${run.n_planned} trials was begun`);
    const first = run.trials.find(trial => trial.key === key);
    if (key && !first) throw new Error(`${name} has no trial ${key} that was begun`);
    this.fill(first ?? run.trials[0]);
    await this.openTrial((first ?? run.trials[0]).key, null, over);
  }

  /** Offer the cases, the arms of the case, and the repeats of the arm. */
  fill(wanted) {
    const { selects, run } = this;
    const want = name => String(wanted?.[name] ?? selects[name].value);
    const unique = values => [...new Set(values)];
    this.options("case", unique(run.trials.map(one => one.case)).map(one => [one, one]), want("case"));
    const ofCase = run.trials.filter(one => one.case === selects.case.value);
    const arms = run.arms.filter(arm => ofCase.some(one => one.arm === arm));
    this.options("arm", arms.map(arm => [arm, arm]), want("arm"));
    const ofArm = ofCase.filter(one => one.arm === selects.arm.value);
    const told = one => `${one.repeat} (${one.score == null ? one.status : `score ${one.score.toFixed(2)}`})`;
    this.options("repeat", ofArm.map(one => [String(one.repeat), told(one), one.key]), want("repeat"));
  }

  options(name, listed, wanted, hint) {
    const select = this.selects[name];
    select.replaceChildren(...(hint ? [make("option", { value: "", text: hint })] : []),
      ...listed.map(([value, text, key]) => make("option", { value, text, "data-key": key })));
    if (listed.some(([value]) => value === wanted)) select.value = wanted;
    select.disabled = !listed.length;
  }

  async openTrial(key, attempt, over = () => false) {
    const trial = await this.ask("trial", { run: this.selects.run.value, key, ...(attempt ? { attempt } : {}) });
    if (over()) return;
    this.trial = trial;
    const { attempts } = this.run.trials.find(one => one.key === key);
    this.options("attempt", attempts.map(n => [String(n), String(n)]), String(trial.attempt));
    this.options("step", trial.transcripts.map(one => [one.name, `${one.name}: ${one.what}`]), trial.first);
    this.options("beside", this.others(), "", "nothing");
    if (!trial.first) throw new Error(`${trial.standing}; no transcript of it was kept`);
    await this.open(trial.first, over);
  }

  /** The other arms of the trial's block. */
  others() {
    const { arm, repeat, case: of } = this.run.trials.find(one => one.key === this.trial.key);
    const block = this.run.trials.filter(one => one.case === of && one.repeat === repeat && one.arm !== arm);
    return block.map(one => [one.arm, one.score == null ? one.arm : `${one.arm} (score ${one.score.toFixed(2)})`]);
  }

  compare(other) {
    const { run, key, attempt } = this.trial;
    return this.onCompare(other ? { run, key, attempt, other } : null);
  }

  alone() {
    this.selects.beside.value = "";
    return this.compare("");
  }

  async open(transcript, over = () => false) {
    const { run, key, attempt } = this.trial;
    const opened = await this.ask("open", { run, key, attempt, transcript });
    if (!over()) this.onOpen(opened, this.trial, () => this.guard(() => this.open(transcript)));
  }

  async openFile(path, over = () => false) {
    const opened = await this.ask("file", { path });
    if (over()) return;
    this.trial = null;
    this.options("beside", [], "", "nothing");
    this.onOpen(opened, null, () => this.guard(() => this.openFile(path)));
  }
}
