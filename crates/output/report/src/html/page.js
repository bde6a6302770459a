// Values under the pointer or the keys, lines switched off, and magnified drawings. The page can be read without it.
'use strict';
(() => {
const SVG = 'http://www.w3.org/2000/svg', MOST = 12;
const make = (name, parent, attributes = {}) => {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  return parent.appendChild(one);
};
const html = (name, parent, text, cls) => {
  const one = document.createElement(name);
  if (text) one.textContent = text;
  if (cls) one.className = cls;
  return parent.appendChild(one);
};

// Three digits, as the tables have them.
const digits = x => Math.abs(x) < 9.995 ? x.toFixed(2) : Math.abs(x) < 99.95 ? x.toFixed(1) : x.toFixed(0);
const plain = x => String(+x.toPrecision(6));
const pair = (small, per, big, little) =>
  Math.floor(small / per) + ' ' + big + (small % per ? ' ' + small % per + ' ' + little : '');
const nanos = ns => {
  const n = Math.abs(ns), sign = ns < 0 ? '−' : '';
  if (n < 1e3) return sign + n.toFixed(0) + ' ns';
  if (n < 999500) return sign + digits(n / 1e3) + ' µs';
  if (n < 999.5e6) return sign + digits(n / 1e6) + ' ms';
  if (n < 119.5e9) return sign + digits(n / 1e9) + ' s';
  if (n < 7.2e12) return sign + pair(Math.round(n / 1e9), 60, 'min', 's');
  if (n < 172.8e12) return sign + pair(Math.round(n / 60e9), 60, 'h', 'min');
  return sign + digits(n / 86400e9) + ' days';
};
const tick = ns => { // without needless zeros
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]])
    if (Math.abs(ns) >= size * 0.9995) return plain(ns / size).replace('-', '−') + ' ' + unit;
  return plain(ns).replace('-', '−') + (ns ? ' ns' : '');
};
const utc = ns => new Date(ns / 1e6).toISOString();
const shown = (value, unit) => unit === 'ns' ? nanos(value) : unit === 'wall' ? utc(value).slice(0, 19) + 'Z'
  : (Number.isInteger(+value) ? (+value).toLocaleString('en') : value) + (unit ? ' ' + unit : '');

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  604800, 1209600, 2592000, 7776000, 31536000];
const wallTicks = (lo, hi, wanted) => {
  const step = (STEPS.find(s => s * 1e9 > (hi - lo) / wanted) || 31536000) * 1e9, all = [];
  for (let at = Math.ceil(lo / step) * step; at <= hi; at += step) {
    const text = utc(at), midnight = text.slice(11, 19) === '00:00:00';
    all.push([at, step >= 86400e9 || midnight ? text.slice(5, 10) : text.slice(11, step < 60e9 ? 19 : 16)]);
  }
  return all;
};
const ticks = (axis, lo, hi, wanted) => {
  if (axis.unit === 'wall') return wallTicks(lo, hi, wanted);
  const label = axis.unit === 'ns' ? tick : plain, all = [];
  const decades = Math.log10(hi / lo);
  if (axis.log && decades * 3 > 2) {
    for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++)
      for (const f of decades * 3 <= wanted ? [1, 2, 5] : [1]) {
        const at = f * 10 ** e;
        if (at >= lo && at <= hi) all.push([at, label(at)]);
      }
    return all;
  }
  const rough = (hi - lo) / wanted, decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(f => f * decade >= rough) * decade;
  for (let n = Math.ceil(lo / step); n * step <= hi; n++) all.push([n * step, label(n * step)]);
  return all;
};

// The steps of a path: where each begins and ends, and its value.
const stepsOf = path => {
  const values = path.dataset.v.split(' '), steps = [];
  let x = 0;
  for (const [, command, first] of path.getAttribute('d').matchAll(/([MHV])([-\d.]+)(?: [-\d.]+)?/g)) {
    if (command === 'V') continue;
    if (command === 'H') steps.push([x, +first, values[steps.length]]);
    x = +first;
  }
  return steps;
};

const tip = html('div', document.body, '', 'hover');
tip.hidden = true;
const live = html('div', document.body, '', 'live');
live.setAttribute('aria-live', 'polite');

class Chart {
  constructor(svg) {
    this.svg = svg;
    const [kind, lo, hi, left, right] = svg.dataset.x.split(' ');
    Object.assign(this, {k: 1, t: 0, left: +left, right: +right, at: null});
    this.axis = {log: kind === 'log', lo: +lo, hi: +hi, unit: svg.dataset.u};
    this.moved = [...svg.querySelectorAll('g.z')];
    this.lines = [...svg.querySelectorAll('path[data-v]')].map(path => ({path, steps: stepsOf(path)}));
    // The browser would show these beside ours.
    this.tips = new Map();
    for (const title of [...svg.querySelectorAll('g.z title')]) {
      this.tips.set(title.parentNode, title.textContent);
      title.remove();
    }
    const name = svg.querySelector('title');
    if (name) {
      svg.setAttribute('aria-label', name.textContent);
      svg.removeAttribute('aria-labelledby');
      svg.setAttribute('aria-describedby', svg.querySelector('desc').id);
      name.remove();
    }
    this.place();
    this.listen();
  }

  // Everything that moves is kept as it was drawn.
  place() {
    const height = this.svg.viewBox.baseVal.height, id = 'clip-' + (Chart.n = (Chart.n || 0) + 1);
    const clip = make('clipPath', make('defs', this.svg), {id});
    make('rect', clip, {x: this.left - 1, y: 0, width: this.right - this.left + 2, height});
    this.parts = [];
    for (const group of this.moved) {
      for (const part of group.querySelectorAll('path,rect,circle,text')) {
        const x = part.getAttribute(part.tagName === 'circle' ? 'cx' : 'x');
        this.parts.push({part, x: +x, width: +(part.getAttribute('width') || 0), own: part.dataset.w});
      }
      this.clip = id;
    }
    this.ticks = this.svg.querySelector('g.xt');
    this.drawn = make('g', this.svg);
    this.cursor = make('path', this.svg, {class: 'cursor'});
    this.ring = make('circle', this.svg, {class: 'cursor', r: 7});
    this.hide();
  }

  toValue(x) {
    const share = ((x - this.t) / this.k - this.left) / (this.right - this.left), {lo, hi, log} = this.axis;
    return log ? lo * (hi / lo) ** share : lo + share * (hi - lo);
  }

  toPixel(value) {
    const {lo, hi, log} = this.axis;
    const share = log ? Math.log(value / lo) / Math.log(hi / lo) : (value - lo) / (hi - lo);
    return (this.left + share * (this.right - this.left)) * this.k + this.t;
  }

  // Magnifies by `k`, with the point at `x` where it is.
  zoom(k, x = (this.left + this.right) / 2) {
    const wanted = Math.min(MOST, Math.max(1, k)), t = x - (x - this.t) / this.k * wanted;
    this.move(wanted, t);
  }

  move(k, t) {
    this.k = k;
    this.t = Math.min(this.left * (1 - k), Math.max(this.right * (1 - k), t));
    this.svg.classList.toggle('zoomed', k > 1);
    for (const group of this.moved)
      k > 1 ? group.setAttribute('clip-path', `url(#${this.clip})`) : group.removeAttribute('clip-path');
    for (const {part, x, width, own} of this.parts) {
      switch (part.tagName) {
        case 'path': part.setAttribute('transform', `matrix(${k} 0 0 1 ${this.t} 0)`); break;
        case 'rect':
          part.setAttribute('x', x * k + this.t);
          part.setAttribute('width', Math.max(own === undefined ? width * k : own * k, Math.min(width, 1.2)));
          break;
        case 'circle': part.setAttribute('cx', x * k + this.t); break;
        default: if (!part.hasAttribute('transform')) part.setAttribute('x', x * k + this.t);
      }
    }
    this.relabel();
    this.reset && (this.reset.disabled = this.out.disabled = k === 1);
    this.hide();
  }

  relabel() {
    this.drawn.replaceChildren();
    if (!this.ticks) return;
    this.ticks.style.display = this.k > 1 ? 'none' : '';
    const text = this.ticks.querySelector('text'), line = this.ticks.querySelector('path:not(.minor)');
    if (this.k === 1 || !text || !line) return;
    const [, y1, y2] = line.getAttribute('d').match(/M[-\d.]+ ([-\d.]+)V([-\d.]+)/);
    const wanted = Math.max(3, Math.round((this.right - this.left) / 95));
    for (const [value, label] of ticks(this.axis, this.toValue(this.left), this.toValue(this.right), wanted)) {
      const x = this.toPixel(value);
      make('path', this.drawn, {class: line.getAttribute('class'), d: `M${x} ${y1}V${y2}`});
      make('text', this.drawn, {class: 'tick m', x, y: text.getAttribute('y')}).textContent = label;
    }
  }

  listen() {
    const {svg} = this, box = document.createElement('div');
    box.className = 'chart';
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', `${svg.getAttribute('aria-label')}: arrow keys read values, plus and minus magnify, 0 resets`);
    svg.replaceWith(box);
    box.append(svg);
    const bar = html('div', box, '', 'zoom');
    const button = (text, label, act) => {
      const one = html('button', bar, text);
      one.type = 'button';
      one.title = label;
      one.setAttribute('aria-label', label);
      one.addEventListener('click', act);
      return one;
    };
    button('+', 'Magnify', () => this.zoom(this.k * 2));
    this.out = button('−', 'Magnify less', () => this.zoom(this.k / 2));
    this.reset = button('⟲', 'Show all', () => this.zoom(1));
    this.reset.disabled = this.out.disabled = true;
    let from = null;
    svg.addEventListener('pointerdown', e => { if (this.k > 1) { from = [e.clientX, this.t]; svg.setPointerCapture(e.pointerId); } });
    svg.addEventListener('pointerup', () => { from = null; });
    svg.addEventListener('pointercancel', () => { from = null; });
    svg.addEventListener('pointermove', e => {
      if (from) return this.move(this.k, from[1] + (e.clientX - from[0]) / this.size());
      const spot = this.spot(e);
      this.read(spot.x, this.tips.get(e.target) || this.near(spot), spot);
    });
    svg.addEventListener('pointerleave', () => this.hide());
    svg.addEventListener('dblclick', e => this.k < MOST ? this.zoom(this.k * 2, this.spot(e).x) : this.zoom(1));
    svg.addEventListener('wheel', e => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom(this.k * (e.deltaY < 0 ? 1.3 : 1 / 1.3), this.spot(e).x);
    }, {passive: false});
    box.addEventListener('keydown', e => this.key(e));
    box.addEventListener('blur', () => this.hide());
  }

  // Pixels of the page in a unit of the drawing.
  size() {
    return this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width;
  }

  spot(e) {
    const box = this.svg.getBoundingClientRect(), size = this.size();
    return {x: (e.clientX - box.left) / size, y: (e.clientY - box.top) / size};
  }

  isShown(part) {
    return !part.classList.contains('off');
  }

  // The text of the nearest dot.
  near({x, y}) {
    let best = null, least = 12;
    for (const part of this.tips.keys()) {
      if (part.tagName !== 'circle' || !this.isShown(part)) continue;
      const far = Math.hypot(part.cx.baseVal.value - x, part.cy.baseVal.value - y);
      if (far < least) [best, least] = [part, far];
    }
    return best && this.tips.get(best);
  }

  // What the lines are at `x`.
  values(x) {
    const at = (x - this.t) / this.k;
    return this.lines.filter(({path}) => this.isShown(path)).flatMap(({path, steps}) => {
      // Spans may be narrower than the pointer is exact.
      const near = path.classList.contains('spans') ? 1.2 / this.k : 0;
      const step = steps.find(([from, to]) => at >= from - near && at < to + near);
      return step ? [{path, from: step[0], to: step[1], text: shown(step[2], path.dataset.u), value: +step[2]}] : [];
    });
  }

  where(x, values) {
    const {unit, log} = this.axis, step = +this.svg.dataset.s;
    if (!step || !values.length) return unit === 'ns' ? nanos(this.toValue(x)) : shown(plain(this.toValue(x)), unit);
    const edge = px => {
      const value = this.toValue(px * this.k + this.t);
      return nanos(log ? 10 ** (Math.round(Math.log10(value) * step) / step) : Math.round(value / step) * step);
    };
    return `${edge(values[0].from)} – ${edge(values[0].to)}`;
  }

  read(x, said, spot) {
    if (x < this.left || x > this.right) return this.hide();
    const values = this.values(x).sort((a, b) => b.value - a.value);
    if (!said && !values.length) return this.hide();
    tip.replaceChildren();
    if (said) html('div', tip, said);
    else {
      html('b', tip, this.where(x, values));
      for (const {path, text} of values.slice(0, 12)) {
        const row = html('div', tip);
        html('i', row, '', path.getAttribute('class').split(' ')[0]);
        row.append(`${path.dataset.n}: ${text}`);
      }
      if (values.length > 12) html('div', tip, `${values.length - 12} more`);
      this.cursor.setAttribute('d', `M${x} 0V${this.svg.viewBox.baseVal.height}`);
      this.cursor.style.display = '';
    }
    if (said) this.cursor.style.display = 'none';
    tip.hidden = false;
    const box = this.svg.getBoundingClientRect(), size = this.size();
    const left = box.left + x * size, top = box.top + (spot ? spot.y * size : 40);
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(4, left + 14 + width > innerWidth - 4 ? left - 14 - width : left + 14) + 'px';
    tip.style.top = Math.max(4, Math.min(innerHeight - height - 4, top + 12)) + 'px';
  }

  hide() {
    tip.hidden = true;
    this.cursor.style.display = this.ring.style.display = 'none';
  }

  // Every place that has a value, from left to right.
  stops() {
    const dots = [...this.tips.keys()].filter(part => this.isShown(part)).map(part => ({
      x: part.tagName === 'circle' ? part.cx.baseVal.value : part.x.baseVal.value + part.width.baseVal.value / 2,
      y: part.tagName === 'circle' ? part.cy.baseVal.value : part.y.baseVal.value,
      said: this.tips.get(part),
    }));
    const steps = this.lines.filter(({path}) => this.isShown(path)).flatMap(({steps}) => steps);
    const middles = [...new Set(steps.map(([from, to]) => (from + to) / 2 * this.k + this.t))].map(x => ({x}));
    const all = dots.concat(middles);
    return all.filter(({x}) => x >= this.left && x <= this.right).sort((a, b) => a.x - b.x);
  }

  key(e) {
    if (e.target !== e.currentTarget) return;
    const acts = {
      '+': () => this.zoom(this.k * 2), '=': () => this.zoom(this.k * 2), '-': () => this.zoom(this.k / 2),
      0: () => this.zoom(1), Escape: () => this.hide(),
      ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1),
      PageDown: () => this.step(10), PageUp: () => this.step(-10), Home: () => this.step(-1e9), End: () => this.step(1e9),
    };
    const act = e.ctrlKey || e.altKey || e.metaKey ? null : acts[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  }

  step(by) {
    const stops = this.stops();
    if (!stops.length) return;
    this.at = Math.min(stops.length - 1, Math.max(0, (this.at === null ? (by > 0 ? -1 : stops.length) : this.at) + by));
    const {x, y, said} = stops[this.at];
    this.hide();
    this.read(x, said, y === undefined ? null : {x, y});
    if (said) {
      this.ring.setAttribute('cx', x);
      this.ring.setAttribute('cy', y);
      this.ring.style.display = '';
    }
    live.textContent = [...tip.children].map(part => part.textContent).join(', ');
  }
}

// A legend's entries hide and show what has their class.
const switches = figure => {
  const keys = [...figure.querySelectorAll('.legend > li')].flatMap(item => {
    const cls = item.querySelector('i') && item.querySelector('i').className;
    return /^(k\d|c\d+|s\d|rest|rest-line)$/.test(cls) && figure.querySelector(`g.z .${cls}`) ? [[item, cls]] : [];
  });
  if (keys.length < 2) return;
  const off = new Set();
  for (const [item, cls] of keys) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...item.childNodes);
    button.setAttribute('aria-pressed', 'true');
    item.append(button);
    button.addEventListener('click', () => {
      const isOff = !off.delete(cls);
      if (isOff) off.add(cls);
      button.setAttribute('aria-pressed', String(!isOff));
      for (const part of figure.querySelectorAll('g.z [class]'))
        part.classList.toggle('off', [...part.classList].some(one => off.has(one)));
    });
  }
};

document.querySelectorAll('svg[data-x]').forEach(svg => new Chart(svg));
document.querySelectorAll('figure').forEach(switches);
document.documentElement.classList.add('js');
})();
