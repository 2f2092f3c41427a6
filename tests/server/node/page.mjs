// The page's own script, run without a browser: what it shows to who has signed in with a key.
//
//   node page.mjs http://127.0.0.1:7440 KEY     prints {"state": …, "numbers": {…}, "schedules": […], "trouble": […], "tenants": […]}
import { strict as assert } from 'node:assert';
import vm from 'node:vm';

const [base, key] = process.argv.slice(2);

// As much of a document as the page uses.
class Element {
  constructor() {
    this.children = [];
    this.hidden = true;
    this.textContent = '';
    this.parts = {};
  }

  // Of a list of choices: the one that is chosen.
  get value() {
    return this.children.find((one) => one.selected)?.name ?? '';
  }

  append(...children) {
    this.children.push(...children);
  }

  replaceChildren(...children) {
    this.children = children;
  }

  querySelector(name) {
    return (this.parts[name] ??= new Element());
  }

  addEventListener() {}
}

const elements = {};
const seen = [];
const context = {
  document: { getElementById: (id) => (elements[id] ??= new Element()), createElement: () => new Element() },
  Option: class {
    constructor(text, name, isDefault, selected) {
      Object.assign(this, { text, name, selected });
    }
  },
  location: { hash: '' },
  URLSearchParams,
  // A session is as good as its key.
  fetch: async (path) => {
    seen.push(path);
    return fetch(base + path, { headers: { authorization: `Bearer ${key}` } });
  },
  setInterval: () => finished(),
};
let finished;
const done = new Promise((resolve) => { finished = resolve; });
const script = await (await fetch(`${base}/page.js`)).text();
vm.runInNewContext(script, context);
await done;

const rows = (id) => elements[id].querySelector('tbody').children.map((row) => row.children.map((cell) => cell.textContent));
const groups = elements.numbers.querySelector('dl').children;
const numbers = Object.fromEntries(groups.map((group) => group.children.map((one) => one.textContent)));
assert.equal(elements.numbers.hidden, false);
console.log(JSON.stringify({
  state: elements.state.textContent,
  numbers,
  schedules: rows('next').map((row) => row[0]),
  trouble: rows('trouble').map((row) => row[0]),
  tenants: elements.tenants.hidden ? [] : elements.tenant.children.map((one) => one.name),
  asked: seen,
}));
